//! A program as an endpoint: what it is given, where it works, and what it may do.

use policies::tree::{Kind, Node};
use serde_json::Value;

use super::super::super::{
    fields::{Diagnosis, Fields, text_of},
    types::{CommandSpec, Granted, Sandbox},
};

const COMMAND: &[&str] = &["type", "argv", "stdin", "env", "folder", "checkpoint", "sandbox"];
const SANDBOX: &[&str] = &["network", "read", "write", "cpu", "memory", "file_size", "disk", "processes"];
/// Most elements of `argv`.
const ARGV_MAX: usize = 256;

pub fn command(node: &Node, found: &mut Diagnosis) -> Option<CommandSpec> {
    let fields = Fields::of(node, "a command endpoint", COMMAND, found)?;
    let at = fields.required("argv", "a command endpoint", found)?;
    let argv = fields.texts("argv", found)?;
    argv_is_fit(&argv, at, found);
    let folder = fields.text("folder", found);
    if let (Some(folder), Some(node)) = (&folder, fields.node("folder")) {
        path_is_fit("folder", folder, node, found);
    }
    let env = fields.pairs("env", found);
    for (key, _) in fields.map("env", found) {
        if key.name.is_empty() || key.name.contains(['=', '\0']) {
            found.error(key.at, "this cannot be the name of a variable");
        }
    }
    let sandbox = match fields.node("sandbox") {
        Some(node) => sandbox(node, found)?,
        None => Sandbox::default(),
    };
    let checkpoint = fields.flag("checkpoint", found).unwrap_or(true);
    Some(CommandSpec { argv, stdin: fields.text("stdin", found), env, folder, checkpoint, sandbox })
}

fn argv_is_fit(argv: &[String], at: &Node, found: &mut Diagnosis) {
    let wrong = match argv.first() {
        None => "'argv' begins with the program",
        Some(program) if program.trim().is_empty() => "'argv' begins with the program",
        // Else an argument could choose what is run.
        Some(program) if program.contains(['{', '}']) => "the program of 'argv' cannot come from an argument",
        Some(_) if argv.len() > ARGV_MAX => "'argv' has more than 256 elements",
        Some(_) if argv.iter().any(|element| element.contains('\0')) => "'argv' has a NUL in it",
        Some(_) => return,
    };
    found.error(at.at, wrong);
}

fn path_is_fit(key: &str, path: &str, node: &Node, found: &mut Diagnosis) {
    let is_climbing = path.split('/').any(|part| part == "..");
    if !path.starts_with('/') || is_climbing || path.contains('\0') {
        found.error_hint(
            node.at,
            format!("'{key}' has to be a whole path without '..'"),
            Some("write it like /srv/reports".to_owned()),
        );
    }
}

fn sandbox(node: &Node, found: &mut Diagnosis) -> Option<Sandbox> {
    let fields = Fields::of(node, "'sandbox'", SANDBOX, found)?;
    let usual = Sandbox::default();
    let processes: u32 = fields.count("processes", 1, found).unwrap_or(usual.processes);
    Some(Sandbox {
        network: fields.flag("network", found).unwrap_or(usual.network),
        read: granted(&fields, "read", found),
        write: granted(&fields, "write", found),
        cpu: fields.duration("cpu", found),
        memory: size(&fields, "memory", found).unwrap_or(usual.memory),
        file_size: size(&fields, "file_size", found).unwrap_or(usual.file_size),
        disk: size(&fields, "disk", found).unwrap_or(usual.disk),
        processes,
    })
}

/// `true` for everything, or a list of files and folders.
fn granted(fields: &Fields<'_>, key: &str, found: &mut Diagnosis) -> Granted {
    let nothing = Granted::These(Vec::new());
    let Some(node) = fields.node(key) else { return nothing };
    match (&node.kind, node.value()) {
        (_, Value::Bool(true)) => Granted::All,
        (_, Value::Bool(false)) => nothing,
        (Kind::Seq(items), _) => {
            let path = |item: &Node| {
                let path = text_of(item, key, found)?;
                path_is_fit(key, &path, item, found);
                Some(path)
            };
            Granted::These(items.iter().filter_map(path).collect())
        }
        _ => {
            found.error(node.at, format!("'{key}' has to be a list of paths, or true for all, not {}", node.is_a()));
            nothing
        }
    }
}

/// So many bytes: `64MiB`, `1GiB`, `200KiB`.
pub(super) fn size(fields: &Fields<'_>, key: &str, found: &mut Diagnosis) -> Option<u64> {
    let node = fields.node(key)?;
    let text = match &node.kind {
        Kind::Scalar(scalar) => scalar.text.trim(),
        Kind::Seq(_) | Kind::Map(_) => "",
    };
    let bytes = [("KiB", 10), ("MiB", 20), ("GiB", 30)].iter().find_map(|(unit, power)| {
        let count: u64 = text.strip_suffix(unit)?.trim_end().parse().ok()?;
        count.checked_mul(1 << power).filter(|bytes| *bytes > 0)
    });
    if bytes.is_none() {
        let hint = Some("write it like 200KiB, 64MiB or 1GiB".to_owned());
        found.error_hint(node.at, format!("'{key}' has to be a size"), hint);
    }
    bytes
}
