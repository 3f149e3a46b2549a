//! What the gateway tells the process that confines a program.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What our own words on standard error begin with.
pub const OURS: &str = "toolgate confine: ";
/// How the launcher ends when it could not do its work, or had to end the program.
pub const OURS_EXIT: u8 = 125;
/// What a shell adds to the number of a signal that ended a program; we do, too.
pub const BY_SIGNAL: i32 = 128;

/// What a program may do, and how much.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// What the kernel offers of Landlock; 0 when nothing.
    pub landlock: u8,
    pub network: bool,
    /// Everything when nothing is said.
    pub read: Option<Vec<PathBuf>>,
    /// Everything when nothing is said.
    pub write: Option<Vec<PathBuf>>,
    /// It sees its own processes alone.
    pub own_processes: bool,
    /// Seconds.
    pub cpu: Option<u64>,
    pub memory: u64,
    pub file_size: u64,
    pub processes: u32,
    /// Bounded as a whole by `disk`.
    pub scratch: PathBuf,
    pub disk: u64,
    /// Somebody watches over it already: what is left is to confine and to begin.
    pub watched: bool,
}

/// Where the system's programs, libraries and settings are that hold nothing secret; what is not there is left out.
pub const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/gnu/store",
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/fonts",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/locale.alias",
    "/etc/localtime",
    "/etc/magic",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/pki/tls/certs",
    "/etc/protocols",
    "/etc/python3",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/timezone",
    "/sys/devices/system/cpu",
];
/// Of the kernel's files about processes, where those of others could be seen.
pub const PROC: &[&str] = &[
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/uptime",
    "/proc/version",
    "/proc/sys/kernel/ngroups_max",
    "/proc/sys/vm/overcommit_memory",
];
/// Devices that hold nothing.
pub const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];
