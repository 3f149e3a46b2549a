//! What a process may open, as the kernel keeps it (Landlock).

use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetError, Scope, path_beneath_rules,
};

use super::plan::{DEVICES, PROC, Plan, SYSTEM};

/// The newest first. Below the third a file could be emptied that must not be written.
const KNOWN: &[(u8, ABI)] = &[(6, ABI::V6), (5, ABI::V5), (4, ABI::V4), (3, ABI::V3)];

/// What this kernel offers; 0 when it is nothing of use.
pub fn level() -> u8 {
    let works = |abi: ABI| -> Result<(), RulesetError> {
        let mut rules = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(abi))?;
        if abi >= ABI::V4 {
            rules = rules.handle_access(AccessNet::from_all(abi))?;
        }
        if abi >= ABI::V6 {
            rules = rules.scope(Scope::from_all(abi))?;
        }
        rules.create().map(drop)
    };
    KNOWN.iter().find(|(_, abi)| works(*abi).is_ok()).map_or(0, |(level, _)| *level)
}

/// Confines this process, for good.
pub fn confine(plan: &Plan) -> Result<(), String> {
    let Some((_, abi)) = KNOWN.iter().find(|(level, _)| *level == plan.landlock) else { return Ok(()) };
    restrict(plan, *abi).map_err(|error| format!("it cannot be confined: {error}"))
}

fn restrict(plan: &Plan, abi: ABI) -> Result<(), RulesetError> {
    let reading = plan.read.as_ref().map_or(BitFlags::EMPTY, |_| AccessFs::from_read(abi));
    let writing = plan.write.as_ref().map_or(BitFlags::EMPTY, |_| AccessFs::from_write(abi));
    let (keeps_files, keeps_network) = (!(reading | writing).is_empty(), !plan.network && abi >= ABI::V4);
    let keeps_others = plan.write.is_some() && abi >= ABI::V6;
    if !(keeps_files || keeps_network || keeps_others) {
        return Ok(());
    }
    let mut rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    if keeps_files {
        rules = rules.handle_access(reading | writing)?;
    }
    if keeps_network {
        rules = rules.handle_access(AccessNet::from_all(abi))?;
    }
    if keeps_others {
        rules = rules.scope(Scope::from_all(abi))?;
    }
    let mut rules = rules.create()?;
    if keeps_files {
        rules = files(rules, plan, reading, writing)?;
    }
    rules.restrict_self().map(drop)
}

fn files(
    mut rules: RulesetCreated,
    plan: &Plan,
    reading: BitFlags<AccessFs>,
    writing: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    // A device that is made could be the disk itself.
    let made = writing & !(AccessFs::MakeBlock | AccessFs::MakeChar);
    let mut allow = |paths: &mut dyn Iterator<Item = &Path>, access: BitFlags<AccessFs>| -> Result<(), RulesetError> {
        for path in paths {
            let access = access & (reading | writing);
            if !access.is_empty() {
                for rule in path_beneath_rules([path], access) {
                    (&mut rules).add_rule(rule?)?;
                }
            }
        }
        Ok(())
    };
    allow(&mut SYSTEM.iter().map(Path::new), reading)?;
    if plan.own_processes {
        allow(&mut [Path::new("/proc")].into_iter(), reading)?;
    } else {
        allow(&mut PROC.iter().map(Path::new), reading)?;
    }
    allow(&mut DEVICES.iter().map(Path::new), AccessFs::ReadFile | AccessFs::WriteFile | BitFlags::EMPTY)?;
    allow(&mut plan.read.iter().flatten().map(|path| &**path), reading)?;
    allow(&mut plan.write.iter().flatten().map(|path| &**path), reading | made)?;
    Ok(rules)
}
