//! Files before and after an import.

use serde_json::json;

use super::*;

fn listed(tool: Value) -> Listed {
    Listed::read(&tool).unwrap()
}

fn read_file() -> Listed {
    listed(json!({
        "name": "read_file",
        "description": "Read a file as text.\nOnly files below the folders that the server was given.",
        "inputSchema": { "$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
            "properties": { "path": { "type": "string", "description": "where: absolute" } }, "required": ["path"] },
        "annotations": { "readOnlyHint": true },
    }))
}

fn move_file() -> Listed {
    listed(json!({
        "name": "Move.File", "description": "mv",
        "inputSchema": { "type": "object" },
        "annotations": { "readOnlyHint": false, "idempotentHint": true },
    }))
}

fn import(tools: &[Listed], before: Option<&str>, reviewed: bool) -> Imported {
    let taken = BTreeSet::from(["move_file".to_owned()]);
    merge(&Source { server: "files", toolset: "files", reviewed, taken: &taken }, tools, before)
}

fn told(imported: &Imported) -> String {
    let row = |row: &Row| {
        let published = if row.published { "offered" } else { "waits" };
        format!("{} {:?} {published} edited {:?} {:#?}\n", row.name, row.change, row.edited, row.notes)
    };
    imported.tools.iter().map(row).collect()
}

/// The specs of a file, which have to be without fault.
fn specs(text: &str) -> Vec<tools::Spec> {
    let parsed = tools::spec::parse("files.yaml", text);
    assert!(parsed.errors.is_empty(), "{:?}\n{text}", parsed.errors);
    parsed.specs
}

#[test]
fn tools_become_specs_that_wait_to_be_read() {
    let imported = import(&[read_file(), move_file()], None, false);
    expect_test::expect![[r##"
        # Tools of the MCP server 'files', made by 'toolgate tool import-mcp --server files'.
        # What you change here stays when the tools are imported again; everything else follows the server.
        ---
        # imported: name=6913ac2e toolset=5227e558 description=67879c9f permissions=8a2d0b87 parameters=06bfdfe9 endpoint=fcca7092 execution=048585fa
        name: read_file
        toolset: files
        description: |-
          Read a file as text.
          Only files below the folders that the server was given.
        permissions: [read]
        parameters:
          type: object
          properties: { path: { type: string, description: "where: absolute" } }
          required: [path]
        endpoint: { type: mcp, server: files, tool: read_file }
        execution: { concurrency_limit: 8 }
        publish: manual    # not offered until somebody has read it: see 'toolgate tool import-mcp --help'
        ---
        # imported: name=8eaf22d0 toolset=5227e558 description=73677f9e permissions=6d7e3e6f parameters=a2c79926 endpoint=2d1727de execution=048585fa
        name: files_move_file
        toolset: files
        description: mv
        permissions: [write, delete]
        parameters: { type: object }
        endpoint: { type: mcp, server: files, tool: Move.File }
        execution: { concurrency_limit: 8 }
        publish: manual    # not offered until somebody has read it: see 'toolgate tool import-mcp --help'
        =====
        files_move_file New waits edited [] [
            "called 'files_move_file' here: 'Move.File' is no name for a tool, or another has it",
            "the description is thin: say when to use it",
        ]
        read_file New waits edited [] []
    "##]].assert_eq(&(imported.text.clone() + "=====\n" + &told(&imported)));
    assert_eq!(specs(&imported.text).len(), 2);
}

#[test]
fn a_second_import_of_the_same_changes_nothing() {
    let first = import(&[read_file(), move_file()], None, false);
    let second = import(&[read_file(), move_file()], Some(&first.text), false);
    assert_eq!(second.text, first.text);
    assert!(second.tools.iter().all(|row| row.change == Change::Same && row.edited.is_empty()));
}

#[test]
fn what_was_read_is_offered_and_hints_count_from_then_on() {
    let first = import(&[read_file(), move_file()], None, false);
    let second = import(&[read_file(), move_file()], Some(&first.text), true);
    let repeatable: Vec<_> =
        specs(&second.text).iter().map(|spec| (spec.name.to_string(), spec.is_repeatable())).collect();
    assert_eq!(repeatable, [("read_file".to_owned(), true), ("files_move_file".to_owned(), true)]);
    assert!(second.tools.iter().all(|row| row.published));
    assert_eq!(import(&[read_file(), move_file()], Some(&second.text), false).text, second.text);
}

#[test]
fn what_a_person_changed_stays_and_the_rest_follows_the_server() {
    let first = import(&[read_file()], None, true).text;
    let mine = first
        .replace("toolset: files\n", "# ours\ntoolset: documents\n")
        .replace("execution: { concurrency_limit: 8 }", "execution: { timeout: 5s }   # slow disks")
        + "requires_env: [HOME]\n";
    let newer = Listed { description: "Read a file as text, in a better way.".into(), ..read_file() };
    let second = import(&[newer], Some(&mine), false);
    expect_test::expect![[r##"
        # Tools of the MCP server 'files', made by 'toolgate tool import-mcp --server files'.
        # What you change here stays when the tools are imported again; everything else follows the server.
        ---
        # imported: name=6913ac2e toolset=5227e558 description=dc1d6265 permissions=8a2d0b87 parameters=06bfdfe9 endpoint=fcca7092 execution=048585fa
        name: read_file
        # ours
        toolset: documents
        description: "Read a file as text, in a better way."
        permissions: [read]
        parameters:
          type: object
          properties: { path: { type: string, description: "where: absolute" } }
          required: [path]
        endpoint: { type: mcp, server: files, tool: read_file }
        execution: { timeout: 5s }   # slow disks
        requires_env: [HOME]
        publish: manual    # not offered until somebody has read it: see 'toolgate tool import-mcp --help'
        =====
        read_file Changed(["description"]) waits edited ["execution", "toolset"] [
            "the server changed what it means: read it again",
        ]
    "##]].assert_eq(&(second.text.clone() + "=====\n" + &told(&second)));
    assert_eq!(&*specs(&second.text)[0].toolset, "documents");
}

#[test]
fn what_both_changed_is_the_persons_and_is_said() {
    let first = import(&[read_file()], None, true).text;
    let mine = first.replace("permissions: [read]", "permissions: [read, network]");
    let newer = Listed { reads_only: Some(false), ..read_file() };
    let second = import(&[newer], Some(&mine), false);
    assert!(second.text.contains("permissions: [read, network]"));
    assert_eq!(second.tools[0].notes, ["'permissions' changed at the server too: yours is kept"]);
    assert!(second.tools[0].published);
}

#[test]
fn a_tool_that_is_gone_goes_unless_a_person_changed_it() {
    let first = import(&[read_file(), move_file()], None, false).text;
    let second = import(&[move_file()], Some(&first), false);
    assert_eq!(second.tools[1].change, Change::Removed);
    assert_eq!(specs(&second.text).len(), 1);
    let mine = first.replace("toolset: files", "toolset: documents");
    let second = import(&[], Some(&mine), false);
    assert!(second.tools.iter().all(|row| row.change == Change::Orphaned));
    assert_eq!(specs(&second.text).len(), 2);
}

#[test]
fn a_name_that_a_person_gave_stays_and_other_documents_are_left_alone() {
    let first = import(&[read_file()], None, false).text;
    let own = "---\nname: own\ndescription: mine alone\nendpoint: { url: \"http://127.0.0.1/x\" }\n";
    let mine = first.replace("name: read_file", "name: show_file") + own;
    let second = import(&[read_file()], Some(&mine), false);
    let names: Vec<_> = specs(&second.text).iter().map(|spec| spec.name.to_string()).collect();
    assert_eq!(names, ["own", "show_file"]);
    assert_eq!(second.tools[0].edited, ["name"]);
}
