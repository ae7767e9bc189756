import { connect, type Socket } from 'node:net'

/** Gain of the moving average of the timers' lateness. */
const GAIN = 0.02

/**
 * Creates delays that are exact on average. Timers have a resolution of 1 ms and fire about 1 ms late: the
 * measured lateness is subtracted, and rounding errors are carried over to the next delay.
 */
const createAfter = () => {
  let lateness = 0.5
  let carry = 0
  return (ms: number, run: () => void): void => {
    const wanted = ms - lateness + carry
    const whole = Math.max(1, Math.round(wanted))
    carry = Math.max(-1, Math.min(1, wanted - whole))
    const from = performance.now()
    setTimeout(() => {
      lateness += GAIN * (performance.now() - from - whole - lateness)
      run()
    }, whole)
  }
}

const after = createAfter()

/**
 * Forwards a connection to a local port with a simulated round trip: bytes arrive half a round trip later in
 * both directions. The first bytes also wait for the round trip of the TCP handshake, which loopback does not
 * have.
 */
export const forwardDelayed = (near: Socket, port: number, roundTripMs: number): void => {
  const far = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true })
  near.setNoDelay(true)
  forwardOneWay(near, far, { ms: roundTripMs / 2, moreAtFirst: roundTripMs })
  forwardOneWay(far, near, { ms: roundTripMs / 2, moreAtFirst: 0 })
}

const forwardOneWay = (
  from: Socket,
  to: Socket,
  { ms, moreAtFirst }: { readonly ms: number; readonly moreAtFirst: number },
): void => {
  const opensAt = performance.now() + moreAtFirst
  // Timers may fire out of order: each one takes the oldest chunk.
  const underWay: (() => void)[] = []
  const later = (arrive: () => void): void => {
    underWay.push(arrive)
    after(ms + Math.max(0, opensAt - performance.now()), () => underWay.shift()?.())
  }
  from.on('data', (chunk: Buffer) => later(() => to.destroyed || to.write(chunk)))
  from.on('end', () => later(() => to.end()))
  from.on('error', () => to.destroy())
  from.on('close', () => later(() => to.destroy()))
}
