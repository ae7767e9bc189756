import * as files from 'node:fs'
import { promisify } from 'node:util'

/** The file calls that tests make fail. As promises: the handles of `node:fs/promises` cost 50 % more for each written file. */
export const fileCalls = {
  open: promisify(files.open),
  read: promisify(files.readFile),
  /** Writes all bytes at the current position. */
  write: promisify(files.writeFile),
  sync: promisify(files.fdatasync),
  close: promisify(files.close),
  rename: promisify(files.rename),
  link: promisify(files.link),
  linkSync: files.linkSync,
  copyFileSync: files.copyFileSync,
}
