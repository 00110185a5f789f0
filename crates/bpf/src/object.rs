//! An object of a congestion control: its functions, and where each belongs in the kernel's table.

use crate::btf::Btf;
use crate::bytes::{text_at, u32_at};
use crate::elf::{Elf, Symbol};
use crate::relocate::INSTRUCTION;

/// The section of the table, and the name of its variable.
const TABLE: &str = ".struct_ops";
const VARIABLE: &str = "ops";
/// The section of constants.
pub(crate) const CONSTANTS: &str = ".rodata";

/// A function of the object.
#[derive(Clone, Debug)]
pub(crate) struct Function<'a> {
    /// Number and name of its section, and where it begins there.
    pub(crate) section: usize,
    pub(crate) section_name: &'a str,
    pub(crate) range: std::ops::Range<usize>,
}

/// An object.
pub(crate) struct Object<'a> {
    pub(crate) elf: Elf<'a>,
    pub(crate) types: Btf<'a>,
    pub(crate) extension: &'a [u8],
    /// With its zero.
    pub(crate) licence: &'a str,
    /// By the name of the table's member.
    pub(crate) functions: Vec<(&'a str, Function<'a>)>,
    /// The table's flags.
    pub(crate) flags: u32,
}

impl<'a> Object<'a> {
    /// Reads an object.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn parse(file: &'a [u8]) -> Result<Self, &'static str> {
        let elf = Elf::parse(file).ok_or("it is no object file")?;
        let data = |name: &str| elf.section(name).map(|(_, section)| section.data);
        let types = Btf::parse(data(".BTF").ok_or("it has no types")?).ok_or("its types are cut short")?;
        let extension = data(".BTF.ext").ok_or("it has no relocations")?;
        let licence = data("license").and_then(|data| std::str::from_utf8(data).ok());
        let licence = licence.filter(|text| text.ends_with('\0')).ok_or("it has no licence")?;
        let (functions, flags) = table(&elf, &types).ok_or("its table is damaged")?;
        Ok(Self { types, extension, licence, functions, flags, elf })
    }

    /// The constants of the object.
    pub(crate) fn constants(&self) -> Option<(usize, &'a [u8])> {
        self.elf.section(CONSTANTS).map(|(number, section)| (number, section.data)).filter(|(_, data)| !data.is_empty())
    }
}

/// The functions of the table, by its members' names, and its flags.
fn table<'a>(elf: &Elf<'a>, types: &Btf<'a>) -> Option<(Vec<(&'a str, Function<'a>)>, u32)> {
    let (number, section) = elf.section(TABLE)?;
    let structure = types.structure_of_variable(VARIABLE)?;
    let start = elf.symbols.iter().find(|symbol| symbol.name == VARIABLE && symbol.section == Some(number))?.offset;
    let members = types.members(structure);
    let mut functions = Vec::new();
    for relocation in elf.relocations(number) {
        let offset = relocation.offset.checked_sub(start)?;
        let member = members.iter().find(|member| u64::from(member.bit_offset) / 8 == offset)?;
        functions
            .push((member.name, function(elf, elf.symbols.get(relocation.symbol)?, section.data, relocation.offset)?));
    }
    let flags = members.iter().find(|member| member.name == "flags")?;
    let flags = u32_at(section.data, usize::try_from(start).ok()? + flags.bit_offset as usize / 8)?;
    Some((functions, flags))
}

/// The function that a relocation in the table points to: by its own symbol, or by its section and an offset.
fn function<'a>(elf: &Elf<'a>, symbol: &Symbol<'a>, table: &[u8], at: u64) -> Option<Function<'a>> {
    let section = symbol.section?;
    let symbol = if symbol.is_function {
        *symbol
    } else {
        let offset = u64::from(u32_at(table, usize::try_from(at).ok()?)?);
        *elf.symbols.iter().find(|s| s.is_function && s.section == Some(section) && s.offset == offset)?
    };
    let start = usize::try_from(symbol.offset).ok()?;
    let range = start..start.checked_add(usize::try_from(symbol.size).ok()?)?;
    let found = elf.sections.get(section)?;
    (range.end <= found.data.len() && range.start % INSTRUCTION == 0).then_some(Function {
        section,
        section_name: found.name,
        range,
    })
}

/// The name of a symbol, for messages.
pub(crate) fn symbol_name<'a>(elf: &Elf<'a>, number: usize) -> &'a str {
    elf.symbols.get(number).map_or("", |symbol| symbol.name)
}

/// Checks that a text would fit the kernel's field for names.
pub(crate) fn fits_name(name: &str) -> bool {
    /// `TCP_CA_NAME_MAX`, less the zero.
    const LONGEST: usize = 15;
    (1..=LONGEST).contains(&name.len()) && text_at(format!("{name}\0").as_bytes(), 0) == Some(name)
}
