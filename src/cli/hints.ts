import { refusalCodes, refusals } from '../market/never-worse.js'
import type { RunReport, ScriptReport } from '../model/report.js'
import { toAddressVariable } from '../model/settings.js'
import { stripBrackets } from '../model/text.js'
import { countItems } from './problems.js'
import { clean } from './text.js'

/** Advice for one kind of failure. */
interface Hint {
  readonly pattern: RegExp
  readonly format: (services: string, addresses: string) => string
}

const hints: readonly Hint[] = [
  {
    pattern: /\b429: |\banswered 429\b/,
    format: () => 'The provider limits the rate; run again later, or set fewer "workers" in scripstream.config.json.',
  },
  {
    pattern: /\banswered 40[13]\b/,
    format: (services) => `${services} denies access (401, 403); check "headers" (SCRIPSTREAM_HEADERS) and your permissions.`,
  },
  {
    pattern: /\banswered 3\d\d\b/,
    format: (services, addresses) => `${services} redirects to another address; set ${addresses} to that address.`,
  },
  {
    pattern: /\bhtml: /,
    format: (services, addresses) =>
      `${services} sends HTML instead of data: it blocks you or requires a login, or ${addresses} points to a web site.`,
  },
  {
    pattern: /\bdns: /,
    format: (services, addresses) =>
      `${services} is not found in the DNS; check the host name in ${addresses}, and the DNS of this machine.`,
  },
  {
    pattern: /\bconnect: /,
    format: (services, addresses) =>
      `${services} cannot be reached; check ${addresses}, the network, the firewall, and whether the service is up.`,
  },
  {
    pattern: /\btls: /,
    format: (services) =>
      `The certificate of ${services} is not trusted; check the clock of this machine, or set NODE_EXTRA_CA_CERTS for your own authority.`,
  },
  {
    pattern: /\bdeadline: /,
    format: (services) => `${services} is too slow; set higher "timeoutsMs" or fewer "workers".`,
  },
  ...refusalCodes.map(
    (code): Hint => ({
      pattern: new RegExp(`\\b${code}: `),
      format: () => `Refused, the earlier files stay: ${refusals[code]}. If the new answers are correct, store them with --accept ${code}.`,
    }),
  ),
  { pattern: /\banswered 5\d\d\b/, format: (services) => `${services} has a server error (5xx); run again later.` },
]

const notFound: Hint = {
  pattern: /\banswered 404\b/,
  format: (services, addresses) => `${services} answered 404 Not Found; check ${addresses}.`,
}

/** Advice for a run: one sentence for each kind of failure. */
export const findHints = ({ scripts, error }: RunReport): readonly string[] => {
  const all = Object.values(scripts).flatMap(collectReasons)
  // A 404 for one stock may be a delisting; a 404 for all means a wrong address.
  const unknown = Object.values(scripts)
    .filter((script) => (script.items.http_404 ?? 0) > 0 && script.items.http_404 === countItems(script))
    .flatMap(collectReasons)
  const reasons = error === undefined ? all : [error, ...all]
  return [...hints.flatMap((hint) => applyHint(hint, reasons)), ...applyHint(notFound, unknown)]
}

/** Advice for one failed request, by its reason; undefined if there is none. */
export const findHint = (reason: string): string | undefined => [...hints, notFound].flatMap((hint) => applyHint(hint, [reason]))[0]

const collectReasons = ({ problems, error, items }: ScriptReport): readonly string[] => [
  ...(error === undefined ? [] : [error]),
  // The report has reasons of the first few failures only.
  ...(items.rate_limit > 0 ? ['429: '] : []),
  ...problems.filter(({ item, status }) => item !== undefined || status !== undefined).map(({ reason }) => reason),
]

const applyHint = ({ pattern, format }: Hint, reasons: readonly string[]): readonly string[] => {
  const parts = reasons.flatMap((reason) => stripBrackets(clean(reason)).split('; ')).filter((part) => pattern.test(part))
  if (parts.length === 0) return []
  const hosts = [...new Set(parts.flatMap((part) => /\b(?:GET|POST) (\w+) \//.exec(part)?.[1] ?? []))]
  const services = hosts.length === 0 ? 'the provider' : hosts.join(', ')
  const addresses = hosts.length === 0 ? 'its address' : hosts.map(toAddressVariable).join(', ')
  const text = format(services, addresses)
  return [hosts.length === 0 ? text.charAt(0).toUpperCase() + text.slice(1) : text]
}
