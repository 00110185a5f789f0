//! Putting a congestion control into the running kernel.

use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::btf::{self, Btf, FUNC};
use crate::bytes::u32_at;
use crate::error::LoadError;
use crate::object::{Function, Object, fits_name, symbol_name};
use crate::programs;
use crate::relocate::{Fault, INSTRUCTION, relocate};
use crate::system;

/// The kernel's description of itself.
const KERNEL_TYPES: &str = "/sys/kernel/btf/vmlinux";
/// The kernel's table of a congestion control, and that of what a map of it has.
const TABLE: &str = "tcp_congestion_ops";
const MAP_VALUE: &str = "bpf_struct_ops_tcp_congestion_ops";

/// A congestion control in the kernel. When it is dropped, or the process ends, new sockets cannot choose it any more.
#[derive(Debug)]
pub struct Loaded {
    algorithm: &'static str,
    name: String,
    _link: OwnedFd,
}

impl Loaded {
    /// The name that sockets choose it by. It has the number of this process, so that it is not taken for the kernel's
    /// own, nor for that of another process, which may end first.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The algorithm, as it was asked for.
    pub fn algorithm(&self) -> &'static str {
        self.algorithm
    }
}

/// Loads the algorithm of this name. It needs CAP_BPF and CAP_PERFMON in the initial user namespace: call it before
/// another one is entered.
///
/// # Errors
/// [`LoadError::Unknown`], [`LoadError::NotPermitted`], [`LoadError::Kernel`], or the system's own.
pub fn load(algorithm: &str) -> Result<Loaded, LoadError> {
    let known = || programs::names().collect::<Vec<_>>().join(", ");
    let unknown = || LoadError::Unknown { name: algorithm.chars().take(80).collect(), known: known() };
    let program = programs::ALL.iter().find(|program| program.name == algorithm).ok_or_else(unknown)?;
    let damaged = |reason: &str| LoadError::Object { name: program.name, reason: reason.to_owned() };
    let object = Object::parse(program.object).map_err(damaged)?;
    let types = fs::read(KERNEL_TYPES)
        .map_err(|error| LoadError::Kernel(format!("{KERNEL_TYPES} ({error}; CONFIG_DEBUG_INFO_BTF)")))?;
    let kernel =
        Btf::parse(&types).ok_or_else(|| LoadError::Kernel(format!("types in {KERNEL_TYPES} that are known")))?;
    let name = own_name(program.name);
    debug_assert!(fits_name(&name), "{name}");
    let link = attach(&object, &kernel, &name, &|reason| damaged(reason))?;
    Ok(Loaded { algorithm: program.name, name, _link: link })
}

/// The algorithm's name and the number of this process, in 36 digits. The kernel takes letters, digits, dots and
/// underscores (`bpf_obj_name_cpy`).
fn own_name(algorithm: &str) -> String {
    let mut number = std::process::id();
    let mut digits = Vec::new();
    while number > 0 || digits.is_empty() {
        digits.push(char::from_digit(number % 36, 36).expect("invariant: a remainder of 36 is a digit"));
        number /= 36;
    }
    format!("{algorithm}_{}", digits.iter().rev().collect::<String>())
}

fn attach(
    object: &Object<'_>,
    kernel: &Btf<'_>,
    name: &str,
    damaged: &dyn Fn(&str) -> LoadError,
) -> Result<OwnedFd, LoadError> {
    let lacks = |what: &str| LoadError::Kernel(format!("struct {what}: TCP congestion control by BPF (5.6 and newer)"));
    let table = kernel.structure(TABLE).ok_or_else(|| lacks(TABLE))?;
    let value_type = kernel.structure(MAP_VALUE).ok_or_else(|| lacks(MAP_VALUE))?;
    let data = kernel.member(value_type, "data").ok_or_else(|| lacks(MAP_VALUE))?;
    let size = kernel.size(value_type).ok_or_else(|| lacks(MAP_VALUE))?;
    let mut value = vec![0; usize::try_from(size).map_err(|_| lacks(MAP_VALUE))?];
    let start = data.bit_offset as usize / 8;
    let constants = object.constants().map(|(section, data)| Ok((section, system::constant(data)?))).transpose()?;
    let members = kernel.members(table);
    let place = |member: &str| {
        let number = members.iter().position(|candidate| candidate.name == member);
        number.map(|number| (number as u32, start + members[number].bit_offset as usize / 8))
    };
    let mut programs = Vec::new();
    for (member, function) in &object.functions {
        let (number, at) = place(member).ok_or_else(|| LoadError::Kernel(format!("{TABLE}.{member}")))?;
        let code = code_of(object, kernel, function, constants.as_ref(), damaged)?;
        let program = system::load_program(&code, object.licence, table, number)?;
        let descriptor = u64::from(program.as_raw_fd().cast_unsigned());
        value[at..at + 8].copy_from_slice(&descriptor.to_le_bytes());
        programs.push(program);
    }
    let (_, at) = place("flags").ok_or_else(|| lacks(TABLE))?;
    value[at..at + 4].copy_from_slice(&object.flags.to_le_bytes());
    let (_, at) = place("name").ok_or_else(|| lacks(TABLE))?;
    value[at..at + name.len()].copy_from_slice(name.as_bytes());
    // The kernel asks for descriptions of types though it takes its own.
    let types = system::load_btf(&btf::least())?;
    let map = system::operations(&types, value_type, value.len())?;
    system::update(&map, &value)?;
    // The map has the programs, and the link has the map.
    system::attach(&map)
}

/// The instructions of a function, for this kernel.
fn code_of(
    object: &Object<'_>,
    kernel: &Btf<'_>,
    function: &Function<'_>,
    constants: Option<&(usize, OwnedFd)>,
    damaged: &dyn Fn(&str) -> LoadError,
) -> Result<Vec<u8>, LoadError> {
    let mut section = object.elf.sections[function.section].data.to_vec();
    relocate(&mut section, function.section_name, &object.types, object.extension, kernel).map_err(
        |fault| match fault {
            Fault::Object(reason) => damaged(reason),
            Fault::Kernel(what) => LoadError::Kernel(what),
        },
    )?;
    for relocation in object.elf.relocations(function.section) {
        let at = usize::try_from(relocation.offset).unwrap_or(usize::MAX);
        let symbol = object.elf.symbols.get(relocation.symbol).ok_or_else(|| damaged("a lost symbol"))?;
        let code = section.get_mut(at..).filter(|code| code.len() >= INSTRUCTION);
        let code = code.ok_or_else(|| damaged("a relocation outside its section"))?;
        match (symbol.section, constants) {
            (None, _) => call_kernel(code, kernel, symbol_name(&object.elf, relocation.symbol))?,
            (Some(found), Some((number, map))) if found == *number => refer(code, map, symbol.offset),
            _ => return Err(damaged("a function or variable that is not expected")),
        }
    }
    Ok(section[function.range.clone()].to_vec())
}

/// A call of a function of the kernel.
fn call_kernel(code: &mut [u8], kernel: &Btf<'_>, name: &str) -> Result<(), LoadError> {
    const BPF_PSEUDO_KFUNC_CALL: u8 = 2;
    let function = kernel.find(name, FUNC).ok_or_else(|| LoadError::Kernel(format!("the function {name}")))?;
    code[1] = (code[1] & 0x0f) | BPF_PSEUDO_KFUNC_CALL << 4;
    code[4..8].copy_from_slice(&function.to_le_bytes());
    Ok(())
}

/// The address of a constant: a map and an offset in its value.
fn refer(code: &mut [u8], map: &OwnedFd, offset: u64) {
    const BPF_PSEUDO_MAP_VALUE: u8 = 2;
    let offset = u32_at(code, 4).unwrap_or(0) + offset as u32;
    code[1] = (code[1] & 0x0f) | BPF_PSEUDO_MAP_VALUE << 4;
    code[4..8].copy_from_slice(&map.as_raw_fd().to_le_bytes());
    if let Some(second) = code.get_mut(12..16) {
        second.copy_from_slice(&offset.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_object_is_whole_and_every_name_fits() {
        for program in programs::ALL {
            let object = Object::parse(program.object).unwrap();
            let members: Vec<_> = object.functions.iter().map(|(member, _)| *member).collect();
            for member in ["cong_avoid", "ssthresh", "undo_cwnd"] {
                assert!(members.contains(&member), "{}: {members:?}", program.name);
            }
            assert_eq!(object.flags & 1, 1, "{}: anybody may choose it", program.name);
            assert_eq!(object.flags & 2 != 0, program.name == "dctcp", "{}: who needs ECN", program.name);
            // The largest number of a process: 2^22 (`PID_MAX_LIMIT`).
            assert!(fits_name(&format!("{}_{}", program.name, "2hwa7")), "{}", program.name);
        }
    }

    #[test]
    fn what_is_cut_short_is_refused() {
        let whole = programs::ALL[0].object;
        for length in (0..whole.len()).step_by(97) {
            assert!(Object::parse(&whole[..length]).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn a_name_without_a_program_is_told_with_those_there_are() {
        let message = load("illinoi").unwrap_err().to_string();
        assert!(message.contains("\"illinoi\"") && message.contains("illinois, newreno"), "{message}");
    }
}
