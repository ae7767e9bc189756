/** The same bytes as a `Buffer`, without a copy. The public types use `Uint8Array`, so that they need no types of Node. */
export const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
