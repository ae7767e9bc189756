import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { onTestFinished } from 'vitest'

const SERVER = 'redis://127.0.0.1:6379/0'

/** One answer of the server, asked in a process of its own, for a test is skipped or not before it begins. */
const ANSWERS = `
const socket = require('node:net').connect(6379, '127.0.0.1', () => socket.write('PING\\r\\n'))
socket.on('data', (text) => process.exit(String(text).startsWith('+PONG') ? 0 : 1))
socket.on('error', () => process.exit(1))
socket.setTimeout(2000, () => process.exit(1))`

const isAway = spawnSync(process.execPath, ['-e', ANSWERS]).status !== 0

/** The Redis that tests may use; what needs it is skipped where none answers, and says so. */
export const redis = { isAway, note: isAway ? ' (skipped: no Redis answers on 127.0.0.1:6379)' : '' } as const

/** The address of a fleet that goes with the test. */
export const ownFleet = (): string => {
  const prefix = `example-${randomUUID().slice(0, 8)}`
  onTestFinished(async () => {
    const client = new Redis(SERVER)
    for await (const keys of client.scanStream({ match: `${prefix}*`, count: 1_000 })) if (keys.length > 0) await client.unlink(...keys)
    client.disconnect()
  })
  return `${SERVER}?prefix=${prefix}`
}
