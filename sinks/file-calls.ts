import * as files from 'node:fs'
import { promisify } from 'node:util'

/** What is done to single files, as promises. The handles of `node:fs/promises` cost half as much again for each file that is written. */
export const fileCalls = {
  open: promisify(files.open),
  read: promisify(files.readFile),
  /** All that is given, wherever the file is open at. */
  write: promisify(files.writeFile),
  sync: promisify(files.fdatasync),
  close: promisify(files.close),
  rename: promisify(files.rename),
  link: promisify(files.link),
}
