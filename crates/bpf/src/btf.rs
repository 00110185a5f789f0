//! BTF: descriptions of C types, of an object and of the kernel (Documentation/bpf/btf.rst of the kernel).

use crate::bytes::{text_at, u16_at, u32_at};

const MAGIC: u16 = 0xeb9f;
/// Size of a type without what follows it, and of a member.
const TYPE: usize = 12;
const MEMBER: usize = 12;
/// Bytes of a pointer.
const POINTER: u64 = 8;

/// Kinds of types, as far as they are told apart here.
const INT: u32 = 1;
const PTR: u32 = 2;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;
const TYPEDEF: u32 = 8;
const VOLATILE: u32 = 9;
const CONST: u32 = 10;
const RESTRICT: u32 = 11;
/// A function.
pub(crate) const FUNC: u32 = 12;
const FUNC_PROTO: u32 = 13;
const VAR: u32 = 14;
const DATASEC: u32 = 15;
const DECL_TAG: u32 = 17;
const TYPE_TAG: u32 = 18;
const ENUM64: u32 = 19;

/// A member of a structure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member<'a> {
    /// Empty for a structure without a name inside another.
    pub(crate) name: &'a str,
    pub(crate) kind: u32,
    /// From the start of the structure.
    pub(crate) bit_offset: u32,
    /// Bits of a bit field; zero for what is none.
    pub(crate) bits: u32,
}

/// Descriptions of types, by numbers from 1 on.
#[derive(Clone, Debug)]
pub(crate) struct Btf<'a> {
    strings: &'a [u8],
    types: &'a [u8],
    /// Where each type begins; number 0 is void.
    offsets: Vec<usize>,
}

impl<'a> Btf<'a> {
    /// Reads descriptions; `None` where they are none, or cut short.
    pub(crate) fn parse(data: &'a [u8]) -> Option<Self> {
        if u16_at(data, 0)? != MAGIC {
            return None;
        }
        let body = data.get(u32_at(data, 4)? as usize..)?;
        let part = |field: usize| {
            let (offset, length) = (u32_at(data, field)? as usize, u32_at(data, field + 4)? as usize);
            body.get(offset..offset.checked_add(length)?)
        };
        let (types, strings) = (part(8)?, part(16)?);
        let mut offsets = vec![usize::MAX];
        let mut at = 0;
        while at < types.len() {
            offsets.push(at);
            let info = u32_at(types, at + 4)?;
            let (kind, count) = ((info >> 24) & 0x1f, (info & 0xffff) as usize);
            at += TYPE
                + match kind {
                    INT | VAR | DECL_TAG => 4,
                    ARRAY => 12,
                    STRUCT | UNION | DATASEC | ENUM64 => 12 * count,
                    ENUM | FUNC_PROTO => 8 * count,
                    _ => 0,
                };
        }
        Some(Self { strings, types, offsets })
    }

    fn field(&self, id: u32, field: usize) -> Option<u32> {
        let at = *self.offsets.get(id as usize)?;
        u32_at(self.types, at.checked_add(field)?)
    }

    fn kind(&self, id: u32) -> Option<u32> {
        Some((self.field(id, 4)? >> 24) & 0x1f)
    }

    /// The name of a type.
    pub(crate) fn name(&self, id: u32) -> Option<&'a str> {
        text_at(self.strings, self.field(id, 0)? as usize)
    }

    /// A text of the descriptions.
    pub(crate) fn text(&self, offset: u32) -> Option<&'a str> {
        text_at(self.strings, offset as usize)
    }

    /// The number of the structure of this name.
    pub(crate) fn structure(&self, name: &str) -> Option<u32> {
        self.find(name, STRUCT)
    }

    /// The number of the type of this name and kind.
    pub(crate) fn find(&self, name: &str, kind: u32) -> Option<u32> {
        let numbers = 1..u32::try_from(self.offsets.len()).ok()?;
        numbers.into_iter().find(|&id| self.kind(id) == Some(kind) && self.name(id) == Some(name))
    }

    /// The type behind other names and qualifiers of it.
    pub(crate) fn resolve(&self, mut id: u32) -> Option<u32> {
        /// More names than any type has: a loop.
        const MOST: u32 = 32;
        for _ in 0..MOST {
            match self.kind(id)? {
                TYPEDEF | VOLATILE | CONST | RESTRICT | TYPE_TAG => id = self.field(id, 8)?,
                _ => return Some(id),
            }
        }
        None
    }

    /// The members of a structure or union; empty for what is none.
    pub(crate) fn members(&self, id: u32) -> Vec<Member<'a>> {
        self.try_members(id).unwrap_or_default()
    }

    fn try_members(&self, id: u32) -> Option<Vec<Member<'a>>> {
        let info = self.field(id, 4)?;
        if !matches!(self.kind(id)?, STRUCT | UNION) {
            return None;
        }
        let has_bit_fields = info >> 31 == 1;
        let member = |number: usize| {
            let at = TYPE + MEMBER * number;
            let offset = self.field(id, at + 8)?;
            let (bit_offset, bits) = if has_bit_fields { (offset & 0xff_ffff, offset >> 24) } else { (offset, 0) };
            Some(Member { name: self.text(self.field(id, at)?)?, kind: self.field(id, at + 4)?, bit_offset, bits })
        };
        (0..(info & 0xffff) as usize).map(member).collect()
    }

    /// What an array has; `None` for what is none.
    pub(crate) fn element(&self, id: u32) -> Option<u32> {
        if self.kind(id)? == ARRAY { self.field(id, TYPE) } else { None }
    }

    /// Bytes of a type.
    pub(crate) fn size(&self, id: u32) -> Option<u64> {
        let id = self.resolve(id)?;
        match self.kind(id)? {
            INT | STRUCT | UNION | ENUM | ENUM64 => Some(u64::from(self.field(id, 8)?)),
            PTR => Some(POINTER),
            ARRAY => self.size(self.field(id, TYPE)?)?.checked_mul(u64::from(self.field(id, TYPE + 8)?)),
            _ => None,
        }
    }

    /// The structure of the variable of this name.
    pub(crate) fn structure_of_variable(&self, name: &str) -> Option<u32> {
        self.resolve(self.field(self.find(name, VAR)?, 8)?)
    }

    /// Whether numbers of a type have a sign.
    pub(crate) fn is_signed(&self, id: u32) -> Option<bool> {
        /// BTF_INT_SIGNED in the encoding.
        const SIGNED: u32 = 1 << 24;
        let id = self.resolve(id)?;
        Some(self.kind(id)? == INT && self.field(id, TYPE)? & SIGNED != 0)
    }

    /// The member of this name, also inside a member without a name; its offset is from the start of `id`.
    pub(crate) fn member(&self, id: u32, name: &str) -> Option<Member<'a>> {
        let members = self.members(self.resolve(id)?);
        members.iter().find(|member| member.name == name).copied().or_else(|| {
            members.iter().filter(|member| member.name.is_empty()).find_map(|outer| {
                let inner = self.member(outer.kind, name)?;
                Some(Member { bit_offset: outer.bit_offset + inner.bit_offset, ..inner })
            })
        })
    }
}

/// The least description that the kernel takes: one number.
pub(crate) fn least() -> Vec<u8> {
    let strings = b"\0int\0";
    let mut bytes = Vec::new();
    bytes.extend(MAGIC.to_le_bytes());
    bytes.extend([1, 0]);
    // The header's length; then types and strings, each with offset and length.
    for number in [24, 0, 16, 16, strings.len() as u32] {
        bytes.extend(number.to_le_bytes());
    }
    // An int of 4 bytes and 32 bits.
    for number in [1, INT << 24, 4, 1 << 24 | 32] {
        bytes.extend(u32::to_le_bytes(number));
    }
    bytes.extend(strings);
    bytes
}
