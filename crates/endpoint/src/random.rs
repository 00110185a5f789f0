//! What must not be guessed: read from the system, and drawn from no seed.

use std::fs::File;
use std::io::Read;

use framewire_wire::vtp::Secret;

use crate::error::EndpointError;

fn random<const LENGTH: usize>() -> Result<[u8; LENGTH], EndpointError> {
    let mut bytes = [0; LENGTH];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(EndpointError::Random)?;
    Ok(bytes)
}

/// What a server makes its cookies with: secret.
///
/// # Errors
/// When the system has no random numbers.
pub fn random_secret() -> Result<Secret, EndpointError> {
    Ok(Secret::new(random()?))
}

/// A client's name for a session: not to be guessed.
///
/// # Errors
/// When the system has no random numbers.
pub fn random_session() -> Result<u64, EndpointError> {
    Ok(u64::from_le_bytes(random()?))
}
