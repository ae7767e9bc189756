const MAX_TEXT_LENGTH = 600

/** Why a connection failed, in plain words where the text of Node or OpenSSL is not. */
export const describeNetworkError = (error: unknown): string => {
  const {
    code = '',
    address = '',
    port,
    hostname,
    message = String(error),
  } = (error ?? {}) as {
    readonly message?: string
    readonly code?: string
    readonly address?: string
    readonly port?: number
    readonly hostname?: string
  }
  const place = `${address.includes(':') ? `[${address}]` : address}${port === undefined ? '' : `:${port}`}`
  if (code === 'ECONNREFUSED' && place !== '') return `${place} refuses connections`
  if (code === 'ENOTFOUND' && hostname !== undefined) return `unknown host ${hostname}`
  if (code === 'EMFILE' || code === 'ENFILE') return 'too many open files'
  if (code === 'EADDRINUSE') return 'another process uses it'
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER')
    return 'this port does not speak TLS; an address with http instead of https may be right'
  return String(message)
    .replace(/\s+/g, ' ')
    .slice(0, MAX_TEXT_LENGTH)
    .replace(/ - Local \(.*\)$/, '')
    .replace(/^[\dA-F]+:error:[\dA-F]+:SSL routines:\w*:([^:]+):.*$/, 'TLS failed: $1')
}
