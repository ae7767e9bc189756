/** The same bytes as a `Buffer`, not copied. Apps hand over plain `Uint8Array`s: that way our types need none of Node's. */
export const bufferOf = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
