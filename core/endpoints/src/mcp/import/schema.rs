//! Schemas of older drafts and of careless servers as JSON Schema 2020-12.

use serde_json::{Map, Value, json};
use tools::Schema;

/// Most levels of a schema that are looked into; deeper ones are refused when it is compiled.
const DEPTH: usize = 64;

/// The schema, mended, with a note for each thing that is not as the server wrote it.
pub fn repaired(schema: &Value, what: &str, notes: &mut Vec<String>) -> Value {
    let mut mend = Mend::default();
    let mut schema = match schema {
        Value::Object(_) => schema.clone(),
        _ => {
            mend.note("was no schema: any object is accepted");
            json!({ "type": "object" })
        }
    };
    mend.draft(&mut schema);
    mend.schema(&mut schema, 0);
    if what == "parameters" && schema.get("type") != Some(&json!("object")) {
        mend.note("did not say that it is an object");
        schema["type"] = json!("object");
    }
    let told = |text: &&str| format!("'{what}' {text}");
    let mut said: Vec<_> = mend.notes.iter().map(told).collect();
    let schema = compilable(schema, what, &mut said);
    notes.append(&mut said);
    schema
}

/// A schema that our validator takes; what it cannot take is left out, and said.
fn compilable(mut schema: Value, what: &str, notes: &mut Vec<String>) -> Value {
    if Schema::compile(&schema).is_ok() {
        return schema;
    }
    without_patterns(&mut schema, 0);
    match Schema::compile(&schema) {
        Ok(_) => notes.push(format!("'{what}' had patterns that cannot be checked here; they are left out")),
        Err(error) => {
            let why = contract::text::one_line(&error.to_string(), 160);
            notes.push(format!("'{what}' cannot be checked here ({why}): any object is accepted"));
            schema = json!({ "type": "object" });
        }
    }
    schema
}

fn without_patterns(value: &mut Value, depth: usize) {
    if depth > DEPTH {
        return;
    }
    match value {
        Value::Object(fields) => {
            // A property may be called so.
            fields.retain(|name, value| !(name == "pattern" && value.is_string()) && name != "patternProperties");
            fields.values_mut().for_each(|value| without_patterns(value, depth + 1));
        }
        Value::Array(items) => items.iter_mut().for_each(|value| without_patterns(value, depth + 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[derive(Default)]
struct Mend {
    notes: Vec<&'static str>,
}

impl Mend {
    fn note(&mut self, note: &'static str) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// What a draft says of itself.
    fn draft(&mut self, schema: &mut Value) {
        let Value::Object(fields) = schema else { return };
        // Which draft it is written for is seen by what it holds; most is the same in all of them.
        fields.shift_remove("$schema");
        fields.shift_remove("$id");
        if let Some(definitions) = fields.shift_remove("definitions") {
            self.note("is written for an older draft");
            let defs = fields.entry("$defs").or_insert_with(|| json!({}));
            if let (Value::Object(defs), Value::Object(old)) = (defs, definitions) {
                defs.extend(old);
            }
        }
    }

    fn schema(&mut self, schema: &mut Value, depth: usize) {
        let Value::Object(fields) = schema else { return };
        if depth > DEPTH {
            return;
        }
        self.reference(fields);
        self.kind(fields);
        self.bounds(fields);
        self.items(fields);
        self.dependencies(fields);
        self.required(fields);
        for key in ["properties", "patternProperties", "$defs", "dependentSchemas"] {
            if let Some(Value::Object(inner)) = fields.get_mut(key) {
                inner.values_mut().for_each(|schema| self.schema(schema, depth + 1));
            }
        }
        for key in ["items", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else"] {
            if let Some(inner) = fields.get_mut(key) {
                self.schema(inner, depth + 1);
            }
        }
        for key in ["allOf", "anyOf", "oneOf", "prefixItems"] {
            if let Some(Value::Array(inner)) = fields.get_mut(key) {
                inner.iter_mut().for_each(|schema| self.schema(schema, depth + 1));
            }
        }
    }

    fn reference(&mut self, fields: &mut Map<String, Value>) {
        let Some(Value::String(to)) = fields.get_mut("$ref") else { return };
        if let Some(name) = to.strip_prefix("#/definitions/") {
            *to = format!("#/$defs/{name}");
        } else if !to.starts_with('#') {
            fields.shift_remove("$ref");
            self.note("refers to another document, which is not fetched");
        }
    }

    fn kind(&mut self, fields: &mut Map<String, Value>) {
        let meant = |kind: &str| match kind {
            "str" | "text" => Some("string"),
            "int" | "long" => Some("integer"),
            "float" | "double" | "decimal" => Some("number"),
            "bool" => Some("boolean"),
            "dict" | "map" => Some("object"),
            "list" | "tuple" => Some("array"),
            _ => None,
        };
        let known = ["string", "integer", "number", "boolean", "object", "array", "null"];
        if let Some(Value::String(kind)) = fields.get("type").filter(|kind| kind.is_string()).cloned().as_ref()
            && !known.contains(&kind.as_str())
        {
            self.note("named types that there are not");
            match meant(kind) {
                Some(meant) => drop(fields.insert("type".into(), json!(meant))),
                None => drop(fields.shift_remove("type")),
            }
        }
        if fields.shift_remove("nullable") == Some(json!(true))
            && let Some(Value::String(kind)) = fields.get("type").cloned()
        {
            self.note("used 'nullable'");
            fields.insert("type".into(), json!([kind, "null"]));
        }
    }

    /// `exclusiveMinimum: true` beside `minimum` is the bound itself by now.
    fn bounds(&mut self, fields: &mut Map<String, Value>) {
        for (exclusive, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
            let Some(Value::Bool(is_exclusive)) = fields.get(exclusive).cloned() else { continue };
            self.note("is written for an older draft");
            fields.shift_remove(exclusive);
            if is_exclusive && let Some(value) = fields.shift_remove(bound) {
                fields.insert(exclusive.into(), value);
            }
        }
    }

    fn items(&mut self, fields: &mut Map<String, Value>) {
        if !fields.get("items").is_some_and(Value::is_array) {
            return;
        }
        self.note("is written for an older draft");
        if let Some(items) = fields.shift_remove("items") {
            fields.insert("prefixItems".into(), items);
        }
        if let Some(rest) = fields.shift_remove("additionalItems") {
            fields.insert("items".into(), rest);
        }
    }

    fn dependencies(&mut self, fields: &mut Map<String, Value>) {
        let Some(Value::Object(all)) = fields.shift_remove("dependencies") else { return };
        self.note("is written for an older draft");
        for (name, needs) in all {
            let key = if needs.is_array() { "dependentRequired" } else { "dependentSchemas" };
            fields.entry(key).or_insert_with(|| json!({}))[name.as_str()] = needs;
        }
    }

    /// `required: true` in a property, and a list that is none.
    fn required(&mut self, fields: &mut Map<String, Value>) {
        let mut needed: Vec<Value> = match fields.shift_remove("required") {
            Some(Value::Array(names)) => names.into_iter().filter(Value::is_string).collect(),
            Some(Value::String(name)) => vec![json!(name)],
            Some(_) | None => Vec::new(),
        };
        if let Some(Value::Object(properties)) = fields.get_mut("properties") {
            for (name, property) in properties {
                let Value::Object(property) = property else { continue };
                if let Some(Value::Bool(flag)) = property.get("required").cloned() {
                    self.note("said 'required' in a property");
                    property.shift_remove("required");
                    let name = json!(name);
                    if flag && !needed.contains(&name) {
                        needed.push(name);
                    }
                }
            }
        }
        if !needed.is_empty() {
            fields.insert("required".into(), Value::Array(needed));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(schema: Value) -> String {
        let mut notes = Vec::new();
        let mended = repaired(&schema, "parameters", &mut notes);
        assert!(Schema::compile(&mended).is_ok());
        format!("{mended}\n{}", notes.join("\n"))
    }

    #[test]
    fn older_drafts_become_the_newest() {
        let old = json!({
            "$schema": "http://json-schema.org/draft-04/schema#",
            "type": "object",
            "definitions": { "n": { "type": "integer", "minimum": 0, "exclusiveMinimum": true } },
            "properties": {
                "n": { "$ref": "#/definitions/n" },
                "pair": { "type": "array", "items": [{ "type": "string" }, { "type": "number" }], "additionalItems": false },
                "who": { "type": "str", "required": true, "nullable": true },
            },
            "dependencies": { "n": ["who"] },
        });
        expect_test::expect![[r##"
            {"type":"object","properties":{"n":{"$ref":"#/$defs/n"},"pair":{"type":"array","prefixItems":[{"type":"string"},{"type":"number"}],"items":false},"who":{"type":["string","null"]}},"$defs":{"n":{"type":"integer","exclusiveMinimum":0}},"dependentRequired":{"n":["who"]},"required":["who"]}
            'parameters' is written for an older draft
            'parameters' said 'required' in a property
            'parameters' named types that there are not
            'parameters' used 'nullable'"##]].assert_eq(&mended(old));
    }

    #[test]
    fn what_cannot_be_checked_is_left_out_and_said() {
        let all = [
            json!(null),
            json!({ "properties": { "a": { "type": "string", "pattern": "(?<=x)y" } } }),
            json!({ "type": "object", "properties": { "a": { "$ref": "https://example.com/a.json" } } }),
            json!({ "type": "object", "properties": { "a": { "type": 7 } } }),
        ];
        let said: Vec<_> = all.into_iter().map(mended).collect();
        expect_test::expect![[r#"
            {"type":"object"}
            'parameters' was no schema: any object is accepted
            {"properties":{"a":{"type":"string"}},"type":"object"}
            'parameters' did not say that it is an object
            'parameters' had patterns that cannot be checked here; they are left out
            {"type":"object","properties":{"a":{}}}
            'parameters' refers to another document, which is not fetched
            {"type":"object"}
            'parameters' cannot be checked here (the schema is not usable at '/properties/a/type': unknown type '7': one of null, boolean, integer, number, string, array, object): any object is accepted"#]].assert_eq(&said.join("\n"));
    }

    #[test]
    fn a_schema_without_fault_is_as_it_was() {
        let schema =
            json!({ "type": "object", "properties": { "pattern": { "type": "string" } }, "required": ["pattern"] });
        assert_eq!(mended(schema.clone()), format!("{schema}\n"));
    }
}
