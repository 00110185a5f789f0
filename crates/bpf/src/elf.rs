//! What is needed of an object file (ELF, 64 bits, little-endian): sections, symbols and relocations.

use crate::bytes::{text_at, u16_at, u32_at, u64_at};

/// Size of a section header, a symbol and a relocation (System V ABI, "Object Files").
const SECTION_HEADER: usize = 64;
const SYMBOL: usize = 24;
const RELOCATION: usize = 16;
/// Types of sections: symbols, and relocations without addends.
const SHT_SYMTAB: u32 = 2;
const SHT_REL: u32 = 9;
/// The section of a symbol that is defined elsewhere.
const SHN_UNDEF: u16 = 0;

/// A section.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section<'a> {
    pub(crate) name: &'a str,
    pub(crate) data: &'a [u8],
    kind: u32,
    /// Of relocations: the section that they change.
    target: u32,
    link: u32,
}

/// A symbol.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Symbol<'a> {
    pub(crate) name: &'a str,
    /// Number of its section; `None` where another object defines it.
    pub(crate) section: Option<usize>,
    pub(crate) offset: u64,
    pub(crate) size: u64,
    /// It is a function.
    pub(crate) is_function: bool,
}

/// A place that depends on a symbol.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Relocation {
    pub(crate) offset: u64,
    /// Number of the symbol.
    pub(crate) symbol: usize,
}

/// An object file.
#[derive(Clone, Debug)]
pub(crate) struct Elf<'a> {
    pub(crate) sections: Vec<Section<'a>>,
    pub(crate) symbols: Vec<Symbol<'a>>,
}

impl<'a> Elf<'a> {
    /// Reads an object; `None` where it is none, or cut short.
    pub(crate) fn parse(file: &'a [u8]) -> Option<Self> {
        // The identification: 64 bits, little-endian.
        if file.get(..6)? != b"\x7fELF\x02\x01" {
            return None;
        }
        let headers = usize::try_from(u64_at(file, 0x28)?).ok()?;
        let (count, names) = (usize::from(u16_at(file, 0x3c)?), usize::from(u16_at(file, 0x3e)?));
        let header = |number: usize| file.get(headers.checked_add(number.checked_mul(SECTION_HEADER)?)?..);
        let data = |header: &[u8]| -> Option<&'a [u8]> {
            const SHT_NOBITS: u32 = 8;
            if u32_at(header, 4)? == SHT_NOBITS {
                return Some(&[]);
            }
            let (offset, size) = (u64_at(header, 0x18)?, u64_at(header, 0x20)?);
            file.get(usize::try_from(offset).ok()?..usize::try_from(offset.checked_add(size)?).ok()?)
        };
        let names = data(header(names)?)?;
        let section = |number: usize| -> Option<Section<'a>> {
            let header = header(number)?;
            Some(Section {
                name: text_at(names, u32_at(header, 0)? as usize)?,
                data: data(header)?,
                kind: u32_at(header, 4)?,
                link: u32_at(header, 0x28)?,
                target: u32_at(header, 0x2c)?,
            })
        };
        let sections = (0..count).map(section).collect::<Option<Vec<_>>>()?;
        let symbols = symbols(&sections)?;
        Some(Self { sections, symbols })
    }

    /// The section of this name, and its number.
    pub(crate) fn section(&self, name: &str) -> Option<(usize, &Section<'a>)> {
        self.sections.iter().enumerate().find(|(_, section)| section.name == name)
    }

    /// What changes in the section with this number.
    pub(crate) fn relocations(&self, section: usize) -> impl Iterator<Item = Relocation> {
        let tables = self.sections.iter().filter(move |s| s.kind == SHT_REL && s.target as usize == section);
        tables.flat_map(|table| table.data.chunks_exact(RELOCATION)).filter_map(|entry| {
            Some(Relocation { offset: u64_at(entry, 0)?, symbol: usize::try_from(u64_at(entry, 8)? >> 32).ok()? })
        })
    }
}

fn symbols<'a>(sections: &[Section<'a>]) -> Option<Vec<Symbol<'a>>> {
    const STT_FUNC: u8 = 2;
    let Some(table) = sections.iter().find(|section| section.kind == SHT_SYMTAB) else { return Some(Vec::new()) };
    let names = sections.get(table.link as usize)?.data;
    let symbol = |entry: &[u8]| {
        let section = u16_at(entry, 6)?;
        Some(Symbol {
            name: text_at(names, u32_at(entry, 0)? as usize)?,
            section: (section != SHN_UNDEF).then_some(usize::from(section)),
            offset: u64_at(entry, 8)?,
            size: u64_at(entry, 16)?,
            is_function: entry.get(4)? & 0xf == STT_FUNC,
        })
    };
    table.data.chunks_exact(SYMBOL).map(symbol).collect()
}
