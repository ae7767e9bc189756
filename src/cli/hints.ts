import { refusalCodes, refusals } from '../market/never-worse.js'
import { kindOf } from '../model/reason.js'
import type { RunReport, ScriptReport } from '../model/report.js'
import { environmentNames } from '../model/settings.js'
import { itemsOf } from './problems.js'
import { clean } from './text.js'

/** What to do about a kind of failure. */
interface Hint {
  readonly of: RegExp
  readonly say: (services: string, addresses: string) => string
}

const hints: readonly Hint[] = [
  {
    of: /\b429: |\bthe provider answered 429\b/,
    say: () => 'The provider limits the rate: wait a while, or set fewer "workers" in scripstream.config.json.',
  },
  {
    of: /\bthe provider answered 40[13]\b/,
    say: (services) =>
      `${services} refuses (401, 403): see that "headers" (SCRIPSTREAM_HEADERS) holds what it wants, and that you may ask it.`,
  },
  {
    of: /\bthe provider answered 3\d\d\b/,
    say: (services, addresses) => `${services} redirects elsewhere: set ${addresses} to where it leads.`,
  },
  {
    of: /\bhtml: /,
    say: (services, addresses) =>
      `${services} sends pages where data is due: it blocks you or wants a login, or ${addresses} is the address of a web site.`,
  },
  {
    of: /\bdns: /,
    say: (services, addresses) => `${services} is not found: see that ${addresses} names the right host, and that names are resolved here.`,
  },
  {
    of: /\bconnect: /,
    say: (services, addresses) =>
      `${services} cannot be reached: see ${addresses}, the network and its firewall, and whether the service is up.`,
  },
  {
    of: /\btls: /,
    say: (services) =>
      `The certificate of ${services} is not trusted: see the clock of this machine; for an authority of your own set NODE_EXTRA_CA_CERTS.`,
  },
  {
    of: /\bdeadline: /,
    say: (services) => `${services} is too slow: allow more time ("timeoutsMs"), or ask it with fewer "workers".`,
  },
  ...refusalCodes.map(
    (code): Hint => ({
      of: new RegExp(`\\b${code}: `),
      say: () => `Refused, and the earlier files stay: ${refusals[code]}. If the answers are right, store them with --accept ${code}.`,
    }),
  ),
  { of: /\bthe provider answered 5\d\d\b/, say: (services) => `${services} has trouble of its own (5xx): run it again later.` },
]

const notFound: Hint = {
  of: /\bthe provider answered 404\b/,
  say: (services, addresses) => `${services} knows nothing of what was asked (404): see that ${addresses} is its address.`,
}

/** What a person can do about what failed, one sentence for each kind of failure that a run saw. */
export const hintsOf = ({ scripts, error }: RunReport): readonly string[] => {
  const all = Object.values(scripts).flatMap(reasonsOf)
  // A stock that is not found may have left the market; where all are not, the address is wrong.
  const unknown = Object.values(scripts)
    .filter((script) => (script.items.http_404 ?? 0) > 0 && script.items.http_404 === itemsOf(script))
    .flatMap(reasonsOf)
  const reasons = error === undefined ? all : [error, ...all]
  return [...hints.flatMap((hint) => told(hint, reasons)), ...told(notFound, unknown)]
}

/** The same for one request that failed, of which a run would show no more than this reason; nothing where nobody can tell. */
export const hintOn = (reason: string): string | undefined => [...hints, notFound].flatMap((hint) => told(hint, [reason]))[0]

const reasonsOf = ({ problems, error, items }: ScriptReport): readonly string[] => [
  ...(error === undefined ? [] : [error]),
  // Only the first few failures are kept with their reasons.
  ...(items.rate_limit > 0 ? ['429: '] : []),
  ...problems.filter(({ item, status }) => item !== undefined || status !== undefined).map(({ reason }) => reason),
]

const told = ({ of, say }: Hint, reasons: readonly string[]): readonly string[] => {
  const parts = reasons.flatMap((reason) => kindOf(clean(reason)).split('; ')).filter((part) => of.test(part))
  if (parts.length === 0) return []
  const hosts = [...new Set(parts.flatMap((part) => /\b(?:GET|POST) (\w+) \//.exec(part)?.[1] ?? []))]
  const services = hosts.length === 0 ? 'the provider' : hosts.join(', ')
  const addresses = hosts.length === 0 ? 'its address' : hosts.map((host) => environmentNames[`urls.${host}`] ?? host).join(', ')
  const text = say(services, addresses)
  return [hosts.length === 0 ? text.charAt(0).toUpperCase() + text.slice(1) : text]
}
