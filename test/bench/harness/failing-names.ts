import dns from 'node:dns'
import { existsSync } from 'node:fs'

/** A host name that only the measured process can resolve. */
export const PROVIDER_NAME = 'provider.test'

type Callback = (
  error: NodeJS.ErrnoException | null,
  address?: string | dns.LookupAddress[],
  family?: number,
) => void

const [address, family] = ['127.0.0.1', 4] as const

/**
 * Loaded into the measured process by `--import`: the name fails to resolve while the file that `BENCH_NAMES`
 * names exists.
 */
const file = process.env.BENCH_NAMES
if (file !== undefined) {
  const { lookup } = dns
  const lookUp = (name: string, ...rest: readonly unknown[]): void => {
    if (name !== PROVIDER_NAME) {
      ;(lookup as (name: string, ...rest: readonly unknown[]) => void)(name, ...rest)
      return
    }
    const callback = rest.at(-1) as Callback
    const isAll = (rest[0] as dns.LookupOptions | undefined)?.all === true
    const failed = Object.assign(new Error(`getaddrinfo EAI_AGAIN ${name}`), {
      code: 'EAI_AGAIN',
      syscall: 'getaddrinfo',
      hostname: name,
    })
    setImmediate(() => {
      if (existsSync(file)) callback(failed)
      else if (isAll) callback(null, [{ address, family }])
      else callback(null, address, family)
    })
  }
  dns.lookup = lookUp as unknown as typeof lookup
}
