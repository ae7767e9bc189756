import { inflateRawSync } from 'node:zlib'

/** The texts of the files in a zip archive, by name, from its central directory. */
export const readZip = (archive: Buffer): ReadonlyMap<string, string> => {
  const end = archive.lastIndexOf(Buffer.from('PK\u0005\u0006', 'latin1'))
  const files = new Map<string, string>()
  let entry = archive.readUInt32LE(end + 16)
  for (let left = archive.readUInt16LE(end + 10); left > 0; left--) {
    const [size, nameLength] = [archive.readUInt32LE(entry + 20), archive.readUInt16LE(entry + 28)]
    const start = archive.readUInt32LE(entry + 42)
    const data = start + 30 + archive.readUInt16LE(start + 26) + archive.readUInt16LE(start + 28)
    const bytes = archive.subarray(data, data + size)
    const isPacked = archive.readUInt16LE(entry + 10) !== 0
    files.set(archive.toString('utf8', entry + 46, entry + 46 + nameLength), (isPacked ? inflateRawSync(bytes) : bytes).toString('utf8'))
    entry += 46 + nameLength + archive.readUInt16LE(entry + 30) + archive.readUInt16LE(entry + 32)
  }
  return files
}
