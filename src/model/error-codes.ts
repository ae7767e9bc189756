/** What each refused answer has in common: it is well-formed, but must not replace the stored data. */
export const refusals = {
  shrink: 'a list or a history is much shorter than the stored one, or many stocks left it at once',
  count: 'a list has fewer records than its own total',
  fields: 'a required field is missing in nearly all answers',
  prices: 'a new candle is impossible, or its price move is',
  rescale: 'many stored series disagree with the answers of one day',
  identity:
    'a series belongs to another stock, different stocks got the same answer, many stocks have another symbol, ISIN or Sid at once, or listed stocks exchanged theirs',
  witness: "the closes of many stocks differ from the exchange's own file of that day",
  units: 'the market cap, P/E or volume of half of the stocks is a multiple of the one before',
} as const

const transportReasons = {
  truncated: 'the answer is not complete',
  deadline: 'no byte, or no complete answer, within the timeout',
  slow: 'the same, on a saturated network link',
  connect: 'no connection to the host',
  dns: 'the host name is unknown',
  tls: 'the certificate or the handshake is invalid',
  proxy: 'the proxy of this network refused the request',
  reset: 'the connection was closed before the answer',
  protocol: 'the reply is not valid HTTP',
  'no-http': 'the port does not speak HTTP/1.1: it never answered, and failed three times in the same way',
  too_large: 'the answer is too large',
  fd: 'too many open files on this machine',
} as const

/**
 * Why no complete reply arrived. `slow`: a deadline passed while our own line was full. `fd`: this machine
 * has too few file descriptors.
 */
export type TransportReason = keyof typeof transportReasons

const usageCodes = {
  usage: 'a setting, a name or a symbol is wrong or missing',
  'missing-setting': 'a setting that the selected streams need is not set',
  'unknown-setting': 'a setting of this name does not exist',
  'no-outputs': 'the folder has no outputs of a run',
  'newer-folder': 'the folder was written by a newer version, in a format that this one does not read',
  'unknown-query': 'no saved or worked statement has this name',
  'unknown-run': 'a worker does not find the run in its shared folder',
  'missing-package': 'an optional package is not installed',
  'volatile-redis': 'the Redis of a fleet may lose data',
} as const

/** What kind of wrong use it is. */
export type UsageCode = keyof typeof usageCodes

const toErrorCodes = () =>
  ({
    rate_limit: 'the provider answered 429, too often or for too long',
    'http_<status>': 'the provider answered with this status',
    html: 'an HTML page instead of data',
    empty: 'a 200 without a body',
    parse: 'the answer is not valid JSON or CSV',
    schema: 'the answer has another structure than expected',
    encoding: 'the answer is not UTF-8',
    'other-stock': 'the answer is about another stock',
    stale: 'a cache on the way answered with a copy that is older than a session',
    ...transportReasons,
    'host-down': 'the host was down for too long; the request was not sent',
    'no-answer': 'every source failed, for different reasons',
    'all-empty': 'the provider answered for every item of a stream, but without a record',
    ...refusals,
    storage: 'a file, a folder or a database cannot be read or written',
    'damaged-file': 'a stored file is damaged',
    internal: 'a check of the program itself has failed',
    ...usageCodes,
  }) as const

/** Every code of a `CollectError` and its meaning; `http_<status>` is a family. */
// A bundler leaves what is not pure in an app that needs none of these texts.
export const errorCodes = /* @__PURE__ */ toErrorCodes()

/** What to do about a failure, where its code alone does not say it; `said`: its message does. */
export type Advice = 'said' | 'cache' | 'http2' | 'needs-tls' | 'may-need-tls' | 'issuer' | 'proxy-denies'

/** A code of `errorCodes`, with `http_<status>` written out. */
export type ErrorCode = Exclude<keyof typeof errorCodes, 'http_<status>'> | `http_${number}`

/**
 * The code of several failures: the one that they share, that of a refusal (its answer can be accepted), or
 * `no-answer`.
 */
export const joinCodes = (codes: readonly ErrorCode[]): ErrorCode => {
  const [code = 'no-answer', ...others] = new Set(codes)
  return others.length === 0 ? code : (codes.find((one) => Object.hasOwn(refusals, one)) ?? 'no-answer')
}
