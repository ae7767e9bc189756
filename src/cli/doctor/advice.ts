import { BadAnswer, HttpError, messageOf, Throttled, TransportError } from '../../model/errors.js'
import { environmentNames, type Host, type Settings } from '../../model/settings.js'

/** What to do about a request that failed. */
export const adviceOn = (error: unknown, host: Host, { headers }: Pick<Settings, 'headers'>): string => {
  const variable = environmentNames[`urls.${host}`] ?? host
  if (error instanceof Throttled) return 'the provider limits the rate: wait a while, or set fewer workers'
  if (error instanceof HttpError) {
    if (error.code === 401 || error.code === 403)
      return Object.keys(headers).length === 0
        ? 'it may want headers that identify you: set SCRIPSTREAM_HEADERS'
        : 'check SCRIPSTREAM_HEADERS: what they hold may have run out'
    if (error.code >= 500) return 'the provider is in trouble: try again later'
    return `check ${variable}, its path too`
  }
  if (error instanceof TransportError) {
    if (error.reason === 'tls') return `check the certificate of ${variable}, and the clock of this machine`
    if (error.reason === 'deadline') return 'it is too slow or silent: try again later, or grant more time with timeoutsMs'
    return `check ${variable}, the network and a proxy on the way`
  }
  if (error instanceof BadAnswer) {
    if (error.reason === 'html') return `check ${variable}: a page came in place of data, as it does where access is blocked`
    return 'the provider may have changed its answers: look for a newer scripstream'
  }
  return messageOf(error).includes('not set') ? `set ${variable}` : 'see what the other calls of this stream say'
}
