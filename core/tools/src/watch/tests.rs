use std::{fs, sync::mpsc::channel, time::Duration};

use super::*;

/// Long beside what it takes; only a test that fails waits for it.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn a_change_is_told_once_it_is_quiet() {
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("a.yaml");
    fs::write(&file, "one").unwrap();
    let (tell, told) = channel();
    let watched = file.clone();
    let watch = watch(&[folder.path().to_owned()], move || {
        tell.send(fs::read_to_string(&watched).unwrap_or_default()).unwrap();
    });
    let watch = watch.unwrap();
    for text in ["t", "tw", "two"] {
        fs::write(&file, text).unwrap();
    }
    assert_eq!(told.recv_timeout(PATIENCE).unwrap(), "two");
    // Replaced by another file of its name, as editors do.
    let other = folder.path().join("b");
    fs::write(&other, "three").unwrap();
    fs::rename(&other, &file).unwrap();
    while told.recv_timeout(PATIENCE).unwrap() != "three" {}
    drop(watch);
    assert!(told.recv().is_err(), "nothing is told after the end");
}

#[test]
fn a_folder_that_is_made_later_is_seen() {
    let root = tempfile::TempDir::new().unwrap();
    let folder = root.path().join("tools");
    let file = folder.join("a.yaml");
    let (tell, told) = channel();
    let watched = file.clone();
    let _watch = watch(std::slice::from_ref(&folder), move || {
        tell.send(fs::read_to_string(&watched).unwrap_or_default()).unwrap();
    });
    fs::create_dir(&folder).unwrap();
    told.recv_timeout(PATIENCE).unwrap();
    fs::write(&file, "here").unwrap();
    while told.recv_timeout(PATIENCE).unwrap() != "here" {}
}

#[test]
fn reading_is_no_change() {
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("a.yaml");
    fs::write(&file, "one").unwrap();
    let (tell, told) = channel();
    let watched = file.clone();
    let _watch = watch(&[folder.path().to_owned()], move || tell.send(()).unwrap());
    fs::write(&file, "two").unwrap();
    told.recv_timeout(PATIENCE).unwrap();
    for _ in 0..3 {
        fs::read_to_string(&watched).unwrap();
    }
    assert!(told.recv_timeout(QUIET * 3).is_err());
}

#[test]
fn what_stands_beside_a_watched_file_does_not_count() {
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("a.yaml");
    fs::write(&file, "one").unwrap();
    let (tell, told) = channel();
    let _watch = watch(std::slice::from_ref(&file), move || tell.send(()).unwrap());
    fs::write(folder.path().join("toolgate.db-wal"), "busy").unwrap();
    assert!(told.recv_timeout(QUIET * 3).is_err(), "the neighbour is not ours");
    // Replaced, and named by a mounted folder's link.
    fs::write(folder.path().join("next"), "two").unwrap();
    fs::rename(folder.path().join("next"), &file).unwrap();
    told.recv_timeout(PATIENCE).unwrap();
    fs::write(folder.path().join("..data"), "").unwrap();
    told.recv_timeout(PATIENCE).unwrap();
}
