import type { IncomingHttpHeaders } from 'node:http'
import type { z } from 'zod'
import type { AnyEndpoint } from '../http/endpoint.js'

export interface IncomingRequest {
  readonly method: string
  /** From the path on, the host's prefix first. */
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/**
 * The result for a request: no endpoint matches, an endpoint matches but its input is invalid, or accepted.
 */
export type RouteResult =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'refused'; readonly name: string; readonly key: string; readonly message: string }
  | {
      readonly kind: 'accepted'
      readonly endpoint: AnyEndpoint
      readonly key: string
      readonly input: unknown
    }

/**
 * Finds the endpoint of a request. If several share a URL, the one whose input schema accepts the request is
 * taken.
 */
export const createRouter = (
  endpoints: readonly AnyEndpoint[],
): ((request: IncomingRequest) => RouteResult) => {
  // Fewer placeholders first: a literal path beats a placeholder that matches anything.
  const routes = [...endpoints]
    .sort((a, b) => countPlaceholders(a.path) - countPlaceholders(b.path))
    .map((endpoint) => ({ endpoint, read: createPathReader(`/${endpoint.host}${endpoint.path}`) }))
  return (request) => {
    const [path = '', query = ''] = request.url.split('?')
    const found = routes.flatMap(({ endpoint, read }) => {
      const values = endpoint.method === request.method ? read(path, query) : undefined
      return values ? [{ endpoint, values }] : []
    })
    const [first] = found
    if (first === undefined) return { kind: 'unknown' }
    if (request.method === 'GET') return chooseEndpoint(found, request, request.url)
    const body = parseBody(request)
    if ('wrong' in body) return refuseRequest(first.endpoint, request.url, body.wrong)
    const posted = found.map(({ endpoint }) => ({ endpoint, values: body.json }))
    return chooseEndpoint(posted, request, JSON.stringify(body.json))
  }
}

export const collectTexts = (input: unknown): readonly string[] => {
  if (typeof input === 'string' || typeof input === 'number') return [String(input)]
  return typeof input === 'object' && input !== null ? Object.values(input).flatMap(collectTexts) : []
}

const parseBody = ({
  headers,
  body,
}: IncomingRequest): { readonly json: unknown } | { readonly wrong: string } => {
  const type = headers['content-type']
  if (!/^application\/json\b/i.test(type ?? ''))
    return { wrong: `content-type: must be application/json, not ${type ?? 'absent'}` }
  try {
    return { json: JSON.parse(body) }
  } catch {
    return { wrong: 'body: is not JSON' }
  }
}

const chooseEndpoint = (
  candidates: readonly { endpoint: AnyEndpoint; values: unknown }[],
  request: IncomingRequest,
  key: string,
): RouteResult => {
  let closest: { endpoint: AnyEndpoint; issues: readonly string[] } | undefined
  for (const { endpoint, values } of candidates) {
    const parsed = endpoint.input.safeParse(values)
    if (parsed.success) {
      const wrong = findWrongHeader(endpoint, request.headers)
      return wrong
        ? refuseRequest(endpoint, key, wrong)
        : { kind: 'accepted', endpoint, key, input: parsed.data }
    }
    const issues = listIssues(parsed.error)
    if (closest === undefined || issues.length < closest.issues.length) closest = { endpoint, issues }
  }
  const issue = closest?.issues[0]
  return closest && issue ? refuseRequest(closest.endpoint, key, issue) : { kind: 'unknown' }
}

const listIssues = (error: z.ZodError): readonly string[] =>
  error.issues.flatMap((issue) => {
    const fields =
      issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : [issue.path]
    return fields.map((path) => `${path.map(String).join('.') || 'body'}: ${issue.message}`)
  })

const findWrongHeader = ({ headers }: AnyEndpoint, sent: IncomingHttpHeaders): string | undefined => {
  if (headers === 'origin' && !sent.origin) return 'origin: the header is missing'
  if (headers === 'browser' && !sent['user-agent']?.startsWith('Mozilla/'))
    return 'user-agent: must be a browser’s, starting with Mozilla/'
  return undefined
}

const refuseRequest = (endpoint: AnyEndpoint, key: string, what: string): RouteResult => ({
  kind: 'refused',
  name: endpoint.name,
  key,
  message: `${endpoint.name}: ${what}`,
})

type Values = Readonly<Record<string, string>>

/**
 * Reads the values of the placeholders of a template; undefined if the URL does not match. Placeholders are
 * lazy and may span segments; the query has the template's parameters, in any order.
 */
const createPathReader = (template: string) => {
  const [path = '', query = ''] = template.split('?')
  const readPath = createTextReader(path)
  const wanted = [...new URLSearchParams(query)].map(([name, value]) => ({
    name,
    read: createTextReader(value),
  }))
  return (actualPath: string, actualQuery: string): Values | undefined => {
    const actual = new URLSearchParams(actualQuery)
    if (actual.size !== wanted.length) return undefined
    const found = [
      readPath(actualPath, decodeURIComponent),
      ...wanted.map(({ name, read }) => read(actual.get(name) ?? '', (value) => value)),
    ]
    return found.some((values) => values === undefined) ? undefined : Object.assign({}, ...found)
  }
}

const countPlaceholders = (template: string): number => template.split('{').length - 1

const createTextReader = (template: string) => {
  const pattern = template.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{(\w+)\}/g, '(?<$1>.+?)')
  const whole = new RegExp(`^${pattern}$`)
  return (text: string, convert: (value: string) => string): Values | undefined => {
    const match = whole.exec(text)
    try {
      return match
        ? Object.fromEntries(
            Object.entries(match.groups ?? {}).map(([name, value]) => [name, convert(value)]),
          )
        : undefined
    } catch {
      return undefined // an invalid percent escape matches no endpoint
    }
  }
}
