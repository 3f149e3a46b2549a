//! Credentials of tools and where Vault is: the keys `credential_store` and `vault`.

use std::collections::BTreeMap;

use endpoints::credentials::{HostPattern, Place, Settings, Variant};
use reqwest::header::HeaderName;

use super::{
    finding::finding_at,
    read::{Reader, Table},
    secret::vault,
    yaml::{Key, Tree, Value},
};

mod form;

use form::Form;

/// What a credential may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Bearer,
    Key,
    Basic,
    OAuth,
    Hmac,
}

const TYPES: [(&str, Type); 5] = [
    ("bearer", Type::Bearer),
    ("api_key", Type::Key),
    ("basic", Type::Basic),
    ("oauth2_client_credentials", Type::OAuth),
    ("hmac", Type::Hmac),
];

/// `vault: { address: …, token: file:…, namespace: … }`.
pub(super) fn vault(reader: &mut Reader, tree: Tree) {
    let Some(mut table) = reader.table("vault", tree) else { return };
    let address = table.take("address").and_then(|tree| reader.url("vault.address", &tree));
    let token = table.take("token").and_then(|tree| {
        let secret = reader.secret("vault.token", &tree)?;
        if secret.reference().starts_with("vault:") {
            reader.error(&tree.spot, "'vault.token' cannot be kept in Vault itself");
        }
        Some(secret)
    });
    let namespace = text(reader, &mut table, "namespace");
    reader.finish(table);
    reader.vault.set(vault::Settings { address, token, namespace });
}

pub(super) fn read(reader: &mut Reader, tree: Tree) -> BTreeMap<String, Settings> {
    let Some(mut table) = reader.table("credential_store", tree) else { return BTreeMap::new() };
    let entry = |(name, tree): (Key, Tree)| Some((name.text.clone(), entry(reader, &name, tree)?));
    table.take_all().into_iter().filter_map(entry).collect()
}

/// One credential with what it is for single tenants.
fn entry(reader: &mut Reader, name: &Key, tree: Tree) -> Option<Settings> {
    let path = format!("credential_store.{}", name.text);
    let (tree, tenants) = without_tenants(tree);
    let begin = reader.errors.len();
    let base = variant(reader, &path, tree.clone(), tenants.is_some());
    let end = reader.errors.len();
    let Some(tenants) = tenants else { return Some(Settings { base: Some(base?), tenants: BTreeMap::new() }) };
    let mut settings = Settings { base, tenants: BTreeMap::new() };
    let path = format!("{path}.tenants");
    for (tenant, over) in reader.table(&path, tenants)?.take_all() {
        let Some(merged) = merged(reader, &format!("{path}.{}", tenant.text), &tree, over) else { continue };
        if let Some(variant) = variant(reader, &format!("{path}.{}", tenant.text), merged, false) {
            settings.tenants.insert(tenant.text, variant);
        }
    }
    // What is wrong with the keys that all have is said once.
    let said: Vec<_> = reader.errors[begin..end].iter().map(|error| (error.line, error.column)).collect();
    let mut n = 0;
    reader.errors.retain(|error| {
        n += 1;
        n <= end || !said.contains(&(error.line, error.column))
    });
    Some(settings)
}

fn without_tenants(mut tree: Tree) -> (Tree, Option<Tree>) {
    let mut tenants = None;
    if let Value::Map(pairs) = &mut tree.value
        && let Some(at) = pairs.iter().position(|(key, _)| key.text == "tenants")
    {
        tenants = Some(pairs.remove(at).1);
    }
    (tree, tenants)
}

/// A tenant's keys in place of those that all have. Another type begins from nothing.
fn merged(reader: &mut Reader, path: &str, base: &Tree, over: Tree) -> Option<Tree> {
    let table = reader.table(path, over)?;
    let (spot, mut own) = (table.spot.clone(), { table }.take_all());
    let has = |own: &[(Key, Tree)], name: &str| own.iter().any(|(key, _)| key.text == name);
    if let Value::Map(pairs) = &base.value
        && !has(&own, "type")
    {
        let inherited: Vec<_> = pairs.iter().filter(|(key, _)| !has(&own, &key.text)).cloned().collect();
        own.extend(inherited);
    }
    Some(Tree { spot, value: Value::Map(own) })
}

/// What a credential is; nothing when that cannot be said. With `partly`, single tenants say what is missing.
fn variant(reader: &mut Reader, path: &str, tree: Tree, partly: bool) -> Option<Variant> {
    let mut table = reader.table(path, tree)?;
    let word = table.take("type");
    let kind = match &word {
        Some(tree) => reader.choice(&table.name("type"), tree, &TYPES),
        None if table.is_misspelt("type") => {
            misspelt_type(reader, &mut table);
            None
        }
        None => {
            missing(reader, &table, "type");
            None
        }
    };
    // Without its type nobody knows which keys it may have.
    let kind = kind?;
    let hosts = hosts(reader, &mut table);
    let mut form = Form { reader, table, partly };
    let kind = match kind {
        Type::Bearer => form.token("token", Place::bearer()),
        Type::Key => {
            form.token("key", Place::Header { name: HeaderName::from_static("x-api-key"), prefix: String::new() })
        }
        Type::Basic => form.basic(),
        Type::OAuth => form.oauth(),
        Type::Hmac => form.signature(),
    };
    let Form { reader, table, .. } = form;
    reader.finish(table);
    Some(Variant { kind: kind?, hosts })
}

/// Only the key that is meant to be `type` is wrong: which of the others are is not known without it.
fn misspelt_type(reader: &mut Reader, table: &mut Table) {
    let path = table.path.clone();
    for (key, _) in table.take_all() {
        if contract::text::nearest(&key.text, ["type"]).is_some() {
            let message = format!("unknown key '{}' in '{path}'", contract::text::one_line(&key.text, 40));
            let finding = finding_at(&reader.file, &key.spot, message).hint("did you mean 'type'?");
            reader.errors.push(finding);
        }
    }
}

fn hosts(reader: &mut Reader, table: &mut Table) -> Vec<HostPattern> {
    let path = table.name("hosts");
    let Some(tree) = table.take("hosts") else { return Vec::new() };
    if matches!(&tree.value, Value::List(items) if items.is_empty()) {
        reader.error(&tree.spot, format!("'{path}' names no host: nothing could be sent the credential"));
    }
    let mut hosts = Vec::new();
    for item in reader.list(tree) {
        let Some(text) = reader.text(&path, &item) else { continue };
        match text.parse() {
            Ok(host) => hosts.push(host),
            Err(why) => reader.error(&item.spot, format!("'{path}' {why}")),
        }
    }
    hosts
}

fn missing(reader: &mut Reader, table: &Table, key: &str) {
    reader.error(&table.spot.clone(), format!("'{}' is missing", table.name(key)));
}

fn text(reader: &mut Reader, table: &mut Table, key: &'static str) -> Option<String> {
    let tree = table.take(key)?;
    reader.text(&table.name(key), &tree)
}

#[cfg(test)]
mod tests;
