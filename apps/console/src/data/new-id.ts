// An id that makes a repeated request harmless: 128 random bits. `crypto.randomUUID` would do, but a browser has
// it only on loopback and under HTTPS.
export const newId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  )
