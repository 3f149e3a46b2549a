//! Who holds a lease: a process life, named so that others on its host can tell that it is over.

use std::fs;

/// A name for this process life: `host/boot/namespace:pid:start`. Two processes never share it.
///
/// The boot and the namespace of process numbers are in it because a pid says nothing outside them: two containers may
/// have one host name, and each its own process 1.
pub fn this_process() -> String {
    let pid = std::process::id();
    let start = start_of(pid).unwrap_or_else(|| contract::TurnId::new().to_string());
    format!("{}:{pid}:{start}", this_host())
}

/// Whether `owner` was a process of this very host that has ended. False when that is not known.
pub fn has_ended(owner: &str) -> bool {
    let mut parts = owner.rsplitn(3, ':');
    let (Some(start), Some(pid), Some(host)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let Ok(pid) = pid.parse::<u32>() else { return false };
    // Without /proc nothing is known of anybody.
    host == this_host() && start_of(std::process::id()).is_some() && start_of(pid).as_deref() != Some(start)
}

fn this_host() -> String {
    let read = |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
    let boot: String = read("/proc/sys/kernel/random/boot_id").chars().take(8).collect();
    let space = fs::read_link("/proc/self/ns/pid").map(|link| link.display().to_string()).unwrap_or_default();
    let space: String = space.chars().filter(char::is_ascii_digit).collect();
    format!("{}/{boot}/{space}", read("/proc/sys/kernel/hostname"))
}

/// When a process started, in ticks since the boot; nothing when there is none.
fn start_of(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program stands in parentheses and may hold spaces and parentheses itself.
    let after_name = &stat[stat.rfind(')')? + 1..];
    let mut fields = after_name.split_ascii_whitespace();
    // A process that has ended and was not yet waited for holds nothing any more.
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    fields.nth(18).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dead_are_known_and_the_living_are_not_taken_for_dead() {
        let me = this_process();
        assert!(!has_ended(&me), "{me}");
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let name = format!("{}:{}:{}", this_host(), child.id(), start_of(child.id()).unwrap());
        assert!(!has_ended(&name));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(has_ended(&name));
    }

    #[test]
    fn nothing_is_known_of_other_hosts_and_other_names() {
        for owner in ["a", "elsewhere/12345678/1:1:1", "::", "x:y:z"] {
            assert!(!has_ended(owner), "{owner}");
        }
    }
}
