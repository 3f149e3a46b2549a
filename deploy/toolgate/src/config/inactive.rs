//! Keys whose features come later: they are checked as strictly as the others, and said to be not active.

use super::{
    read::{Reader, Table},
    yaml::{Tree, Value},
};

pub(super) fn read(reader: &mut Reader, table: &mut Table) {
    type Check = fn(&mut Reader, Tree);
    let keys: [(&'static str, Check); 3] =
        [("audit", audit), ("mcp_servers", mcp_servers), ("credential_store", credential_store)];
    for (key, check) in keys {
        if let Some(tree) = table.take(key) {
            let spot = tree.spot.clone();
            check(reader, tree);
            reader.warn(&spot, format!("'{key}' is not active in this version"));
        }
    }
}

fn audit(reader: &mut Reader, tree: Tree) {
    reader.choice("audit", &tree, &[("best_effort", ()), ("required", ())]);
}

fn mcp_servers(reader: &mut Reader, tree: Tree) {
    for (i, item) in reader.list(tree).into_iter().enumerate() {
        let path = format!("mcp_servers[{i}]");
        let Some(mut table) = reader.table(&path, item) else { continue };
        match table.take("id") {
            Some(tree) => drop(reader.text(&table.name("id"), &tree)),
            None => reader.error(&table.spot.clone(), format!("'{path}.id' is missing")),
        }
        if let Some(tree) = table.take("url") {
            reader.url(&table.name("url"), &tree);
        }
        texts(reader, &mut table, &["transport", "credential"]);
        for key in ["command", "env", "headers", "toolset", "timeout"] {
            table.take(key);
        }
        reader.finish(table);
    }
}

fn credential_store(reader: &mut Reader, tree: Tree) {
    let Some(mut table) = reader.table("credential_store", tree) else { return };
    for (name, tree) in table.take_all() {
        let Some(mut entry) = reader.table(&format!("credential_store.{}", name.text), tree) else { continue };
        credential(reader, &mut entry);
        reader.finish(entry);
    }
}

fn credential(reader: &mut Reader, table: &mut Table) {
    let kinds = [("bearer", ()), ("basic", ()), ("api_key", ()), ("oauth2_client_credentials", ()), ("hmac", ())];
    match table.take("type") {
        Some(tree) => drop(reader.choice(&table.name("type"), &tree, &kinds)),
        None => reader.error(&table.spot.clone(), format!("'{}' is missing", table.name("type"))),
    }
    secrets(reader, table, &["token", "username", "password", "key", "client_id", "client_secret", "secret"]);
    texts(reader, table, &["header", "query", "prefix", "algorithm", "audience"]);
    if let Some(tree) = table.take("token_url") {
        reader.url(&table.name("token_url"), &tree);
    }
    for key in ["scopes", "signed", "hosts"] {
        if let Some(tree) = table.take(key) {
            words(reader, &table.name(key), tree);
        }
    }
}

fn texts(reader: &mut Reader, table: &mut Table, keys: &[&'static str]) {
    for key in keys {
        if let Some(tree) = table.take(key) {
            reader.text(&table.name(key), &tree);
        }
    }
}

fn secrets(reader: &mut Reader, table: &mut Table, keys: &[&'static str]) {
    for key in keys {
        if let Some(tree) = table.take(key) {
            reader.secret(&table.name(key), &tree);
        }
    }
}

fn words(reader: &mut Reader, path: &str, tree: Tree) {
    match tree.value {
        Value::List(items) => items.iter().for_each(|item| drop(reader.text(path, item))),
        _ => reader.error(&tree.spot, format!("'{path}' must be a list")),
    }
}
