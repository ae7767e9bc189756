import { type AddressInfo, createServer, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { readFleetAddress } from '../../src/fleet/options.js'
import { connectToRedis, loadPackages } from '../../src/fleet/redis.js'
import { StorageError } from '../../src/model/errors.js'
import { markNeedsRedis, noRedis, SERVER } from './support.js'

const GOOD = { redis_version: '7.0.15', aof_enabled: '1', maxmemory_policy: 'noeviction' }

/** The names of the commands that a client sent. */
const commandsIn = (text: string): readonly string[] =>
  text.split(/^\*\d+\r\n\$\d+\r\n/m).flatMap((part) => part.split('\r\n')[0] || [])

/** A fake Redis server that answers only INFO and HELLO; returns its port. */
const serverWith = async (facts: Readonly<Record<string, string>>): Promise<number> => {
  const info = Object.entries(facts)
    .map((fact) => fact.join(':'))
    .join('\r\n')
  const answers: Readonly<Record<string, string>> = {
    info: `$${info.length}\r\n${info}\r\n`,
    hello: '%1\r\n$5\r\nproto\r\n:3\r\n',
  }
  const answer = (command: string): string => answers[command.toLowerCase()] ?? '-ERR unknown command\r\n'
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => undefined)
    socket.on('data', (bytes) => socket.write(commandsIn(bytes.toString()).map(answer).join('')))
  })
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

const connecting = async (port: number, allowVolatile = false): Promise<void> => {
  const address = readFleetAddress(`redis://:secret@127.0.0.1:${port}`)
  const redis = await connectToRedis(address, loadPackages(), { allowVolatile })
  redis.disconnect()
}

describe('the check of a Redis server', () => {
  it('accepts a server that persists its data', async () => {
    await connecting(await serverWith(GOOD))
    await connecting(await serverWith({ ...GOOD, redis_version: '10.1.0' }))
  })

  it.each([
    [
      'loses its data when it stops',
      { ...GOOD, aof_enabled: '0' },
      ['set "appendonly yes" in redis.conf'],
      ['maxmemory'],
    ],
    [
      'evicts data',
      { ...GOOD, maxmemory_policy: 'allkeys-lru' },
      ['(allkeys-lru): set "maxmemory-policy noeviction"'],
      ['appendonly'],
    ],
    [
      'does both',
      { ...GOOD, aof_enabled: '0', maxmemory_policy: 'volatile-ttl' },
      ['"appendonly yes"', '"maxmemory-policy noeviction"'],
      [],
    ],
  ])('rejects a server that %s, with the settings to change and a code', async (_, facts, words, others) => {
    const port = await serverWith(facts)
    const refused = connecting(port)
    await expect(refused).rejects.toMatchObject({ name: 'UsageError', code: 'volatile-redis' })
    for (const word of [
      `Redis at redis://127.0.0.1:${port} is not durable`,
      ...words,
      'redis-cli config set',
    ])
      await expect(refused).rejects.toThrow(word)
    for (const other of [...others, 'secret']) await expect(refused).rejects.not.toThrow(other)
    await connecting(port, true)
  })

  it('rejects a server that is too old, even with --allow-volatile', async () => {
    const port = await serverWith({ ...GOOD, redis_version: '6.2.14' })
    await expect(connecting(port, true)).rejects.toThrow('is 6.2.14: a fleet needs Redis 7 or newer')
  })

  it('reports an unreachable server without the password', async () => {
    const reaching = connecting(1)
    await expect(reaching).rejects.toThrow(StorageError)
    await expect(reaching).rejects.toThrow(
      /^Redis at redis:\/\/127\.0\.0\.1:1 cannot be used \(127\.0\.0\.1:1 refuses connections\): check that it runs/,
    )
    await expect(reaching).rejects.not.toThrow('secret')
  })
})

describe.skipIf(noRedis)(markNeedsRedis('a Redis server that requires a password'), () => {
  it('is reported with its error, without the given password', async () => {
    const address = readFleetAddress(`${SERVER.replace('//', '//nobody:secret@')}`)
    const reaching = connectToRedis(address, loadPackages(), { allowVolatile: true })
    await expect(reaching).rejects.toThrow(/cannot be used \(WRONGPASS/)
    await expect(reaching).rejects.not.toThrow('secret')
  })
})
