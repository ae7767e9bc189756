// Lets a process kill itself before one of its calls for files.
import { basename } from 'node:path'
import { disk } from '../../dist/src/storage/disk.js'

export const print = (line) => process.stdout.write(`${line}\n`)

/** Kills the process before that call for a file, of those that are made while `isCounted` returns true. */
export const killAt = (last, isCounted = () => true) => {
  let calls = 0
  for (const name of ['open', 'openSync', 'writeFile', 'writeSync', 'fdatasync', 'close', 'closeSync', 'rename', 'renameSync']) {
    const call = disk[name]
    disk[name] = (...args) => {
      if (isCounted() && ++calls === last) {
        const target = name.startsWith('rename') ? basename(args[1]) : ''
        print(`killed before ${name}${/^\d{8}T/.test(target) ? ' of a record' : target.endsWith('.parquet') ? ' of a base' : ''}`)
        process.kill(process.pid, 'SIGKILL')
      }
      return call(...args)
    }
  }
}
