//! Keys whose features come later: they are checked as strictly as the others, and said to be not active.

use super::{
    read::{Reader, Table},
    yaml::Tree,
};

pub(super) fn read(reader: &mut Reader, table: &mut Table) {
    type Check = fn(&mut Reader, Tree);
    let keys: [(&'static str, Check); 1] = [("audit", audit)];
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
