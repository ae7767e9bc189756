/** A failed request, without secrets. */
export interface FailedRequest {
  readonly method: string
  /** The service, such as `news`. */
  readonly host: string
  /** The path of the endpoint, with its placeholders. */
  readonly path: string
  readonly url: string
  readonly stream?: string | undefined
  /** The stock, index or list. */
  readonly item?: string | undefined
}

/** The reply to a failed request, without secrets. */
export interface FailedResponse {
  readonly status: number
  /** The content type, if it is valid. */
  readonly type: string | undefined
  /** Size of the decompressed body. */
  readonly bytes: number
  /** The beginning of the body as a quoted text; the title or the text of an HTML page. */
  readonly start: string | undefined
  /** The target of a redirect. */
  readonly location?: string | undefined
}

/** A failed request and, if there was one, its reply. */
export interface FailedExchange {
  readonly request?: FailedRequest | undefined
  readonly response?: FailedResponse | undefined
  /** Whether the same request may succeed later; default: what the class of the error says. */
  readonly isTemporary?: boolean | undefined
}

export const formatExchange = ({
  request,
  message,
  response,
}: FailedExchange & { readonly message: string }): string =>
  [
    ...(request === undefined ? [] : [`${request.method} ${request.host} ${request.path}: `]),
    message,
    ...(response === undefined ? [] : [` (${formatResponse(response)})`]),
  ].join('')

/** For example `text/html, 812 B, "Access Denied"`. */
export const formatResponse = ({ type, bytes, start, location }: FailedResponse): string =>
  [type, formatSize(bytes), location && `redirect to ${location}`, start]
    .filter((part) => part !== undefined)
    .join(', ')

const formatSize = (bytes: number): string =>
  bytes === 0 ? 'empty body' : bytes < 10_000 ? `${bytes} B` : `${Math.round(bytes / 1_000)} kB`
