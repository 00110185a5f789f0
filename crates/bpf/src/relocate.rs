//! "Compile once, run everywhere": puts what an object says of the kernel's structures right for the running kernel. As
//! libbpf's `relo_core.c` does, for fields of structures.

use crate::btf::{Btf, Member};
use crate::bytes::{u16_at, u32_at};

/// Bytes of an instruction.
pub(crate) const INSTRUCTION: usize = 8;
/// Bytes of a record of `.BTF.ext`: where, of which type, which member, and what is asked.
const RECORD: usize = 16;

/// A question about the kernel that an instruction depends on (`enum bpf_core_relo_kind`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Question {
    ByteOffset,
    ByteSize,
    Exists,
    IsSigned,
    LeftShift,
    RightShift,
}

impl Question {
    fn from_number(number: u32) -> Option<Self> {
        use Question::{ByteOffset, ByteSize, Exists, IsSigned, LeftShift, RightShift};
        [ByteOffset, ByteSize, Exists, IsSigned, LeftShift, RightShift].get(number as usize).copied()
    }
}

/// Where a field is, and how large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    bit_offset: u64,
    /// Bits of a bit field; zero for what is none.
    bits: u64,
    size: u64,
    is_signed: bool,
}

impl Place {
    /// Offset and size of the load that gets a bit field whole.
    fn load(&self) -> (u64, u64) {
        let mut size = self.size.max(1);
        if self.bits == 0 {
            return (self.bit_offset / 8, size);
        }
        loop {
            let offset = self.bit_offset / 8 / size * size;
            if self.bit_offset + self.bits - offset * 8 <= size * 8 || size >= 8 {
                return (offset, size);
            }
            size *= 2;
        }
    }

    fn answer(&self, question: Question) -> u64 {
        let (offset, size) = self.load();
        let bits = if self.bits == 0 { size * 8 } else { self.bits };
        match question {
            Question::ByteOffset => offset,
            Question::ByteSize => size,
            Question::Exists => 1,
            Question::IsSigned => u64::from(self.is_signed),
            Question::LeftShift => 64u64.saturating_sub(self.bit_offset + bits - offset * 8),
            Question::RightShift => 64 - bits.min(64),
        }
    }
}

/// A step from a structure towards a field.
#[derive(Clone, Debug)]
enum Step<'a> {
    Member(&'a str),
    Element(u64),
}

/// Changes the instructions of the section with this name. `extension` is `.BTF.ext` of the object, `local` its types.
///
/// # Errors
/// What is wrong with the object, or what the kernel lacks.
pub(crate) fn relocate(
    code: &mut [u8],
    section: &str,
    local: &Btf<'_>,
    extension: &[u8],
    kernel: &Btf<'_>,
) -> Result<(), Fault> {
    for record in records(extension, section, local).ok_or(Fault::Object("its .BTF.ext is cut short"))? {
        let question = Question::from_number(record.question).ok_or(Fault::Object("an unknown relocation"))?;
        let (root, steps, here) = walk_local(local, record.root, record.path).ok_or(Fault::Object("a lost field"))?;
        let there = walk_kernel(kernel, root, &steps);
        let answer = match there {
            Some(there) => there.answer(question),
            None if question == Question::Exists => 0,
            None => return Err(Fault::Kernel(describe(root, &steps))),
        };
        let instruction = code.get_mut(record.offset..).ok_or(Fault::Object("a relocation outside its section"))?;
        let is_same_size = there.is_some_and(|there| there.load().1 == here.load().1);
        patch(instruction, answer, is_same_size).map_err(|()| Fault::Kernel(describe(root, &steps)))?;
    }
    Ok(())
}

/// Why a relocation fails.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The object is damaged.
    Object(&'static str),
    /// The kernel has no such field.
    Kernel(String),
}

fn describe(root: &str, steps: &[Step<'_>]) -> String {
    let mut text = format!("the field struct {root}");
    for step in steps {
        match step {
            Step::Member(name) => text += &format!(".{name}"),
            Step::Element(number) => text += &format!("[{number}]"),
        }
    }
    text
}

/// A record of `.BTF.ext`.
#[derive(Clone, Copy, Debug)]
struct Record<'a> {
    /// Of the instruction, in bytes from the start of its section.
    offset: usize,
    root: u32,
    /// Numbers of members and elements: "0:3:1".
    path: &'a str,
    question: u32,
}

/// The records of a section; `None` where the extension is cut short.
fn records<'a>(extension: &[u8], section: &str, local: &Btf<'a>) -> Option<Vec<Record<'a>>> {
    // magic, version and flags, length of the header, then functions, lines and these, each with offset and length.
    if u16_at(extension, 0)? != 0xeb9f {
        return None;
    }
    let header = u32_at(extension, 4)? as usize;
    let (offset, length) = (u32_at(extension, 24)? as usize, u32_at(extension, 28)? as usize);
    let start = header.checked_add(offset)?;
    let mut rest = extension.get(start..start.checked_add(length)?)?;
    let mut found = Vec::new();
    if rest.is_empty() {
        return Some(found);
    }
    let size = u32_at(rest, 0)? as usize;
    rest = rest.get(4..)?;
    while !rest.is_empty() {
        let (name, count) = (local.text(u32_at(rest, 0)?)?, u32_at(rest, 4)? as usize);
        let body = rest.get(8..8 + size.checked_mul(count)?)?;
        if name == section {
            for record in body.chunks_exact(size.max(RECORD)) {
                found.push(Record {
                    offset: u32_at(record, 0)? as usize,
                    root: u32_at(record, 4)?,
                    path: local.text(u32_at(record, 8)?)?,
                    question: u32_at(record, 12)?,
                });
            }
        }
        rest = rest.get(8 + body.len()..)?;
    }
    Some(found)
}

/// The name of the structure, the steps to the field, and where it is by the object's own types.
fn walk_local<'a>(local: &Btf<'a>, root: u32, path: &str) -> Option<(&'a str, Vec<Step<'a>>, Place)> {
    let mut numbers = path.split(':').map(|number| number.parse::<u64>().ok());
    // The first counts whole structures behind a pointer.
    if numbers.next()?? != 0 {
        return None;
    }
    let root = local.resolve(root)?;
    let mut at = Cursor { kind: root, bit_offset: 0, bits: 0 };
    let mut steps = Vec::new();
    for number in numbers {
        let number = number?;
        if local.element(at.kind).is_some() {
            at = at.element(local, number)?;
            steps.push(Step::Element(number));
        } else {
            let member = *local.members(at.kind).get(usize::try_from(number).ok()?)?;
            at = at.member(local, &member)?;
            // One without a name is looked through where the kernel's are searched.
            if !member.name.is_empty() {
                steps.push(Step::Member(member.name));
            }
        }
    }
    Some((local.name(root)?, steps, at.place(local)?))
}

fn walk_kernel(kernel: &Btf<'_>, root: &str, steps: &[Step<'_>]) -> Option<Place> {
    let mut at = Cursor { kind: kernel.structure(root)?, bit_offset: 0, bits: 0 };
    for step in steps {
        at = match step {
            Step::Element(number) => at.element(kernel, *number)?,
            Step::Member(name) => at.member(kernel, &kernel.member(at.kind, name)?)?,
        };
    }
    at.place(kernel)
}

/// A place inside a structure, and what is there.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    kind: u32,
    bit_offset: u64,
    bits: u64,
}

impl Cursor {
    fn member(self, types: &Btf<'_>, member: &Member<'_>) -> Option<Self> {
        Some(Self {
            kind: types.resolve(member.kind)?,
            bit_offset: self.bit_offset + u64::from(member.bit_offset),
            bits: u64::from(member.bits),
        })
    }

    fn element(self, types: &Btf<'_>, number: u64) -> Option<Self> {
        let kind = types.resolve(types.element(self.kind)?)?;
        let offset = types.size(kind)?.checked_mul(number)?.checked_mul(8)?;
        Some(Self { kind, bit_offset: self.bit_offset.checked_add(offset)?, bits: 0 })
    }

    fn place(self, types: &Btf<'_>) -> Option<Place> {
        Some(Place {
            bit_offset: self.bit_offset,
            bits: self.bits,
            size: types.size(self.kind)?,
            is_signed: types.is_signed(self.kind)?,
        })
    }
}

/// Writes `answer` into the instruction at the start of `code`. A load or store of a field takes it only where the field
/// is as large as the program believes.
fn patch(code: &mut [u8], answer: u64, is_same_size: bool) -> Result<(), ()> {
    /// Classes of instructions (Documentation/bpf/standardization/instruction-set.rst of the kernel).
    const LD: u8 = 0;
    const LDX: u8 = 1;
    const ST: u8 = 2;
    const STX: u8 = 3;
    let instruction = code.get_mut(..INSTRUCTION).ok_or(())?;
    match instruction[0] & 7 {
        LDX | ST | STX => {
            let offset = i16::try_from(answer).map_err(|_| ())?;
            instruction[2..4].copy_from_slice(&offset.to_le_bytes());
            is_same_size.then_some(()).ok_or(())
        }
        LD => {
            let (low, high) = (answer as u32, (answer >> 32) as u32);
            instruction[4..8].copy_from_slice(&low.to_le_bytes());
            code.get_mut(12..16).ok_or(())?.copy_from_slice(&high.to_le_bytes());
            Ok(())
        }
        _ => {
            let immediate = i32::try_from(answer).map_err(|_| ())?;
            instruction[4..8].copy_from_slice(&immediate.to_le_bytes());
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bit_field_is_loaded_whole_and_shifted_into_place() {
        // Bit 11 of a structure, one bit wide, declared as a byte: the byte at 1, bit 3.
        let place = Place { bit_offset: 11, bits: 1, size: 1, is_signed: false };
        let answers = [Question::ByteOffset, Question::ByteSize, Question::LeftShift, Question::RightShift];
        assert_eq!(answers.map(|question| place.answer(question)), [1, 1, 60, 63]);
        // Five bits across two bytes: a load of two.
        let place = Place { bit_offset: 14, bits: 5, size: 1, is_signed: true };
        assert_eq!(answers.map(|question| place.answer(question)), [0, 4, 45, 59]);
        assert_eq!(place.answer(Question::IsSigned), 1);
        // A whole number.
        let place = Place { bit_offset: 64, bits: 0, size: 4, is_signed: false };
        assert_eq!(answers.map(|question| place.answer(question)), [8, 4, 32, 32]);
    }

    #[test]
    fn an_instruction_takes_the_answer_where_its_class_has_it() {
        let patched = |code: u8, answer, same| {
            let mut bytes = [0; 16];
            bytes[0] = code;
            patch(&mut bytes, answer, same).map(|()| bytes)
        };
        // r = *(u32 *)(r + off), r += imm, r = imm64.
        assert_eq!(patched(0x61, 300, true).unwrap()[2..4], 300i16.to_le_bytes());
        assert_eq!(patched(0x07, 70_000, false).unwrap()[4..8], 70_000i32.to_le_bytes());
        let wide = patched(0x18, 1 << 40 | 5, false).unwrap();
        assert_eq!((&wide[4..8], &wide[12..16]), (&5u32.to_le_bytes()[..], &256u32.to_le_bytes()[..]));
        assert!(patched(0x61, 300, false).is_err(), "a field of another size");
        assert!(patched(0x61, 40_000, true).is_err(), "an offset out of reach");
        assert!(patch(&mut [0x18; 8], 1, true).is_err(), "cut short");
    }
}
