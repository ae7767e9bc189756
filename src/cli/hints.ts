import { existsSync } from 'node:fs'
import { join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Advice, CollectError, errorCodes, formatError, refusals, UsageError } from '../model/errors.js'
import type { ReportedCause, RunReport } from '../model/report.js'
import { countItems } from '../model/script-figures.js'
import { toAddressVariable } from '../model/settings.js'
import { adaptCommands } from './command-line.js'
import type { ProcessIo } from './dependencies.js'
import { readSize } from './terminal/terminal.js'
import { clean, wrap } from './terminal/text.js'

/** A code of `errorCodes`; the statuses of HTTP are grouped. */
type HintKind = Exclude<keyof typeof errorCodes, 'http_<status>'> | `http_${string}` | Advice

/** The settings of services that are not known by name. */
const settingNames = {
  address: 'its address',
  headers: '"headers" (SCRIPSTREAM_HEADERS)',
  maxRate: '"maxRate"',
}

const refused = (code: keyof typeof refusals): string =>
  `Refused, the earlier files stay: ${refusals[code]}. If the new answers are correct, store them with --accept ${code}.`

/**
 * What to do about each kind of failure, in the order in which a summary shows it: for the services that
 * failed, with their settings and where those are set. Without a hint, the message says it all.
 */
export const hints: Readonly<Partial<Record<HintKind, string>>> = {
  rate_limit: '{services} limited the rate; run again later, or set a lower {maxRate} (requests a second).',
  'http_401, http_403': '{services} denied access (401, 403); check {headers} and your permissions.',
  http_3xx: '{services} redirected to another address; set {address} to that address.',
  html: '{services} sent HTML instead of data: you are blocked or must log in, or {address} points to a web site.',
  dns: '{services} cannot be found in the DNS; check the host name in {address}, and the DNS of this machine.',
  connect:
    '{services} cannot be reached; check {address}, the network, the firewall, the proxy, and whether the service is up.',
  tls: 'The TLS connection to {services} fails; check {address}, the clock of this machine, and NODE_EXTRA_CA_CERTS for your own authority.',
  proxy: 'Check HTTPS_PROXY, HTTP_PROXY and NO_PROXY, with the user name and the password in them.',
  deadline: '{services} answered too slowly; set higher "timeoutsMs" or fewer "workers".',
  shrink: refused('shrink'),
  count: refused('count'),
  fields: refused('fields'),
  prices: refused('prices'),
  rescale: refused('rescale'),
  identity: refused('identity'),
  cache:
    'A cache or proxy between this machine and {services} gives requests for different items the same answer. The earlier files stay. Have it cache no POST requests, or reach {services} without it, then run again.',
  stale:
    'A cache between this machine and {services} answers with old copies; the earlier files stay. Have it ask for a new one (it ignores "cache-control: no-cache"), or reach {services} without it, then run again.',
  units: refused('units'),
  witness: refused('witness'),
  http_5xx: '{services} answered with a server error (5xx); run again later.',
  http_421: '{services} answered 421: that server is not responsible for this host name; check {address}.',
  http_431: '{services} answered 431: the headers of the requests are too large; shorten {headers}.',
  http_451:
    '{services} answered 451: the data may not be given for legal reasons, often by country; ask the provider.',
  http_404: '{services} answered 404 Not Found; check {address}.',
  'damaged-file':
    'Restore the file from a backup. An output can be fetched again instead: move it away and run again, or use --fresh. A recorded day cannot.',
  internal:
    'This is a bug: report it, with the log of the run. Outputs that were not stored stay as they were.',
  'missing-setting':
    '"scripstream init" writes a settings file to fill in. To try it without a provider: scripstream run --simulate',
  'unknown-setting': '"scripstream help settings" shows all of them.',
  'no-outputs': 'Name another folder with --out, or create the outputs with "scripstream run --out DIR".',
  'unknown-query':
    '"scripstream query --examples" lists saved and worked statements, "scripstream watch rules" worked rules.',
  'unknown-run': 'Set --blobs to the shared folder of the driver.',
  'volatile-redis': 'To accept that, add --allow-volatile.',
  reset: '{services} closed connections without an answer; run again later, or set fewer "workers".',
  'may-need-tls':
    '{services} closed connections without an answer; if the port expects TLS, {address} must start with https.',
  'needs-tls': '{services} expects TLS: {address} must start with https.',
  http2: '{services} must speak HTTP/1.1: set {address} to a port that does, or have it enabled there.',
  issuer:
    '{services} must send the certificate of the issuer along with its own. If the issuer is your own authority, name its file in NODE_EXTRA_CA_CERTS.',
  'proxy-denies':
    'Have the proxy allow the host of {services}, or name the host in NO_PROXY if it can be reached without the proxy.',
}

const toHintKind = (code: string): string => {
  if (!code.startsWith('http_') || code in hints) return code
  if (code === 'http_401' || code === 'http_403') return 'http_401, http_403'
  return /^http_[35]/.test(code) ? `${code.slice(0, 6)}xx` : 'http_<other>'
}

export type Origins = ReadonlyMap<string, string>

/** Where the address of a service is set, or its variable. */
export const findAddressOrigin = (host: string, origins: Origins = new Map()): string =>
  origins.get(`urls.${host}`) ?? origins.get(`hosts.${host}.url`) ?? toAddressVariable(host)

const findSettings = (hosts: readonly string[], origins: Origins = new Map()): typeof settingNames => {
  if (hosts.length === 0) return settingNames
  const own = hosts.flatMap((host) => origins.get(`hosts.${host}.headers`) ?? [])
  const forAll = [...origins].find(([name]) => name.startsWith('headers.'))?.[1] ?? []
  return {
    address: hosts.map((host) => findAddressOrigin(host, origins)).join(', '),
    headers: own.concat(forAll).join(', ') || settingNames.headers,
    maxRate: hosts.map((host) => origins.get(`hosts.${host}.maxRate`) ?? `hosts.${host}.maxRate`).join(', '),
  }
}

const fillHint = (hint: string, services: string, settings: typeof settingNames): string => {
  const values: Readonly<Record<string, string>> = { services, ...settings }
  return hint.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? '')
}

const describeCauses = (causes: readonly ReportedCause[], origins: Origins | undefined): readonly string[] =>
  Object.entries(hints).flatMap(([kind, hint]) => {
    const same = causes.filter(({ code, advice }) => (advice ?? toHintKind(code)) === kind)
    if (hint === undefined || same.length === 0) return []
    const hosts = [...new Set(same.flatMap(({ host }) => host ?? []))]
    const text = fillHint(hint, hosts.join(', ') || 'the provider', findSettings(hosts, origins))
    return [hosts.length === 0 ? text.charAt(0).toUpperCase() + text.slice(1) : text]
  })

/** Advice for a run. A 404 for one stock may be a delisting; a 404 for all means a wrong address. */
export const findHints = ({ scripts }: RunReport, origins?: Origins): readonly string[] =>
  describeCauses(
    Object.values(scripts).flatMap((script) => {
      const areAllNotFound = script.items.http_404 === countItems(script)
      return (script.causes ?? []).filter(({ code }) => code !== 'http_404' || areAllNotFound)
    }),
    origins,
  )

export const findHint = ({ causes }: CollectError, origins?: Origins): string | undefined =>
  describeCauses(causes, origins)[0]

/** The codes, their meanings and what to do, for the README. */
export const listErrorCodes = (): readonly (readonly [code: string, meaning: string, hint: string])[] =>
  Object.entries(errorCodes).flatMap(([code, meaning]) => {
    const kinds =
      code === 'http_<status>' ? Object.keys(hints).filter((kind) => kind.startsWith('http_')) : [code]
    return kinds.map(
      (kind) =>
        [kind, meaning, fillHint(hints[kind as HintKind] ?? '', 'the service', settingNames)] as const,
    )
  })

/** An error in words, and what to do about it, line by line; an unexpected one with its stack. */
export const describeError = (error: unknown): readonly string[] => {
  const isExpected = error instanceof CollectError
  const text = isExpected
    ? adaptInstall(error)
    : `unexpected error: ${(error instanceof Error && error.stack) || formatError(error)}`
  const hint = isExpected ? findHint(error) : undefined
  // Leading blanks stay: a `^` may point at a position in the line above.
  return [
    ...text.split('\n').map((line) => `${/^ */.exec(line)}${clean(line)}`),
    ...(hint === undefined ? [] : [hint]),
  ]
}

/** Prints an error and what to do about it, and returns the exit code. */
export const printError = (error: unknown, { stderr }: Pick<ProcessIo, 'stderr'>): number => {
  const [first = '', ...more] = describeError(error).map(adaptCommands)
  const lines = [`error: ${first}`, ...more.map((line) => `  ${line}`)]
  const { columns } = readSize(stderr)
  // A `^` points at a position in the line above.
  const isWhole = (index: number): boolean =>
    [lines[index], lines[index + 1]].some((line) => /^ *\^/.test(line ?? ''))
  stderr.write(
    `${lines.flatMap((line, index) => (isWhole(index) ? [line] : wrap(line, columns))).join('\n')}\n`,
  )
  return error instanceof UsageError ? 2 : 1
}

/** The library does not know how the command was installed. */
export const adaptInstall = ({ code, message }: CollectError): string =>
  code === 'missing-package'
    ? message.replace(/npm install ([^\n]+)$/, (_, packages: string) => describeInstall(packages.split(' ')))
    : message

/**
 * The command that installs packages where this command finds them: as it was itself installed, by the path
 * of its file. In a checkout, and beside the global packages of other tools than npm, that is the current
 * folder.
 */
export const describeInstall = (
  packages: readonly string[],
  file = fileURLToPath(import.meta.url),
): string => {
  if (file.includes(`${sep}_npx${sep}`))
    return `npx ${['scripstream', ...packages].map((name) => `-p ${name}`).join(' ')} scripstream …`
  const end = file.lastIndexOf(`${sep}node_modules${sep}`)
  const isGlobal =
    end >= 0 && !file.includes(`${sep}.pnpm${sep}`) && !existsSync(join(file.slice(0, end), 'package.json'))
  return `npm install ${isGlobal ? '-g ' : ''}${packages.join(' ')}`
}
