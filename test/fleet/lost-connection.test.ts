import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { hashOutputs } from '../support/folders.js'
import { createFleetPlace, readReport, waitUntilJoined } from './processes.js'
import { markNeedsRedis, noRedis, SERVER } from './support.js'

/**
 * The reply for one item: its id. The barrier was added before, so Redis knows the script, and the items come
 * in one pipeline.
 */
const TAKEN = /\$\d+\r\ni\w+\r\n/

/** A proxy that destroys a connection once, in the middle of the reply to a pipeline of items. */
const breakingServer = async () => {
  const sockets = new Set<Socket>()
  const connections = { broken: 0 }
  const { hostname, port } = new URL(SERVER)
  const proxy = createServer((client) => {
    const server = connect(Number(port), hostname)
    const end = (): void => {
      client.destroy()
      server.destroy()
    }
    for (const socket of [client, server]) {
      sockets.add(socket)
      socket.on('error', end).on('close', end)
    }
    let isDoomed = false
    client.on('data', (bytes) => {
      isDoomed ||= connections.broken === 0 && bytes.toString('latin1').split('"item":').length > 4
      server.write(bytes)
    })
    server.on('data', (bytes) => {
      const taken = isDoomed && connections.broken === 0 ? TAKEN.exec(bytes.toString('latin1')) : null
      if (taken === null) return client.write(bytes)
      connections.broken += 1
      return client.write(bytes.subarray(0, taken.index + taken[0].length), end)
    })
  }).listen(0, '127.0.0.1')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    proxy.close()
  })
  await new Promise((resolve) => proxy.once('listening', resolve))
  return { address: `redis://127.0.0.1:${(proxy.address() as AddressInfo).port}`, connections }
}

describe.skipIf(noRedis)(markNeedsRedis('a connection that is lost while items are handed out'), () => {
  it('loses nothing: the items are added again', async () => {
    const { address, connections } = await breakingServer()
    const place = await createFleetPlace({ server: address })
    const workers = [place.worker('a')]
    await waitUntilJoined(workers)
    const { code, stderr } = await place.driver(['--only', 'market-news']).ended
    expect(connections.broken).toBe(1)
    expect(code, stderr).toBe(0)
    expect(readReport(place.out).outcome).toBe('complete')
    expect(hashOutputs(place.out)).toEqual(hashOutputs(await place.runInProcess(['--only', 'market-news'])))
    for (const { child } of workers) child.kill('SIGTERM')
    for (const { ended } of workers) expect((await ended).code).toBe(0)
  })
})
