import type { Socket } from 'node:net'
import { createRandom } from '../../../src/simulator/random.js'
import { SEED } from './conditions.js'

/** A network line, shared by all connections. */
export interface LineSpeed {
  readonly bitsPerSecond: number
  /** Maximum pause; the line pauses about four times a second and catches up afterwards. */
  readonly jitterMs: number
}

const PACKET_BYTES = 1_460
const TICK_MS = 5
const PAUSE_EVERY_MS = 250

/** Sends to the clients: without a limit, or packet by packet, round-robin, with a token bucket of bytes. */
export const createLine = () => {
  const waiting = new Map<Socket, Buffer>()
  let speed: LineSpeed | undefined
  let timer: NodeJS.Timeout | undefined
  let random = createRandom(SEED, 'bench-line')
  let tokens = 0
  let lastAt = 0
  let pausedUntil = 0

  const sendPackets = (): void => {
    for (const [socket, bytes] of waiting) {
      if (tokens < PACKET_BYTES) return
      waiting.delete(socket)
      if (socket.destroyed) continue
      const packet = bytes.subarray(0, PACKET_BYTES)
      socket.write(packet)
      tokens -= packet.length
      // Append to the end of the map: round-robin.
      if (bytes.length > packet.length) waiting.set(socket, bytes.subarray(packet.length))
    }
  }
  const tick = ({ bitsPerSecond, jitterMs }: LineSpeed): void => {
    const now = performance.now()
    const most = ((jitterMs + TICK_MS * 4) / 8_000) * bitsPerSecond + PACKET_BYTES
    tokens = Math.min(most, tokens + ((now - lastAt) / 8_000) * bitsPerSecond)
    lastAt = now
    if (now < pausedUntil) return
    sendPackets()
    if (jitterMs > 0 && random.next() < TICK_MS / PAUSE_EVERY_MS) pausedUntil = now + random.next() * jitterMs
    if (waiting.size === 0) {
      clearInterval(timer)
      timer = undefined
    }
  }
  return {
    /** Drops waiting bytes: the connections of the earlier run are closed. */
    setSpeed: (next: LineSpeed | null): void => {
      speed = next ?? undefined
      waiting.clear()
      clearInterval(timer)
      timer = undefined
      random = createRandom(SEED, 'bench-line')
    },
    send: (socket: Socket, bytes: Buffer): void => {
      if (socket.destroyed) return
      if (speed === undefined) {
        socket.write(bytes)
        return
      }
      const before = waiting.get(socket)
      waiting.set(socket, before === undefined ? bytes : Buffer.concat([before, bytes]))
      if (timer !== undefined) return
      const current = speed
      lastAt = performance.now()
      timer = setInterval(() => tick(current), TICK_MS)
    },
  }
}
