import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { serveHttp } from '../http/support.js'

/** The names and secrets that the services know. */
export const KNOWN = {
  TEAM: 'T024',
  ID: '4711',
  TOKEN: 't0ken-of-the-test',
  TOPIC: 'market-alerts',
  CHAT: '-1001234',
}

interface Incoming {
  readonly method: string | undefined
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

interface Reply {
  readonly status: number
  readonly body: string | object
  /** What people see; only if the message is accepted. */
  readonly shown?: string
}

type Service = (request: Incoming) => Reply | Promise<Reply>
type Fields = Readonly<Record<string, unknown>>

const refuse = (status: number, body: Reply['body']): Reply => ({ status, body })

const isText = (value: unknown): value is string => typeof value === 'string' && value.trim() !== ''

const parseObject = (body: Buffer): Fields | undefined => {
  try {
    const value: unknown = JSON.parse(body.toString())
    return typeof value === 'object' && value !== null ? (value as Fields) : undefined
  } catch {
    return undefined
  }
}

const FORM = /^(application\/x-www-form-urlencoded|multipart\/form-data)/

/** The fields of the query, and of a form or a JSON object. */
const readFields = async ({ query, headers, body }: Incoming): Promise<Fields> => {
  const type = headers['content-type'] ?? ''
  const inQuery = Object.fromEntries(query)
  if (type.startsWith('application/json')) return { ...inQuery, ...parseObject(body) }
  if (!FORM.test(type)) return inQuery
  const form = await new Response(body, { headers: { 'content-type': type } }).formData()
  return { ...inQuery, ...Object.fromEntries(form) }
}

const MAX_NTFY_BYTES = 4_096

const explainNtfy = (code: number, error: string): Reply => {
  const http = Math.floor(code / 100)
  return refuse(http, { code, http, error, link: 'https://ntfy.sh/docs/publish/' })
}

/** The body is the message. At the limit it is an attachment, which a server without attachments refuses. */
const ntfy: Service = ({ method, path, headers, body }) => {
  const isTopic = (method === 'POST' || method === 'PUT') && /^\/[-\w]{1,64}$/.test(path)
  if (!isTopic) return explainNtfy(40_401, 'page not found')
  if (headers.authorization === undefined) return explainNtfy(40_301, 'forbidden')
  if (headers.authorization !== `Bearer ${KNOWN.TOKEN}`) return explainNtfy(40_101, 'unauthorized')
  if (path !== `/${KNOWN.TOPIC}`) return explainNtfy(40_301, 'forbidden')
  const isMessage = body.length < MAX_NTFY_BYTES && isUtf8(body)
  if (!isMessage) return explainNtfy(40_014, 'invalid request: attachments not allowed')
  const message = body.toString().trim()
  return { status: 200, body: { id: 'm1', event: 'message', topic: KNOWN.TOPIC, message }, shown: message }
}

/** JSON with `text`; other fields are ignored. */
const slack: Service = ({ method, path, body }) => {
  const [, services, team, id, token] = path.split('/')
  const isHook = method === 'POST' && services === 'services' && team === KNOWN.TEAM && id === KNOWN.ID
  if (!isHook) return refuse(404, 'no_service')
  if (token !== KNOWN.TOKEN) return refuse(403, 'invalid_token')
  const fields = parseObject(body)
  if (fields === undefined) return refuse(400, 'invalid_payload')
  return isText(fields.text) ? { status: 200, body: 'ok', shown: fields.text } : refuse(400, 'no_text')
}

const MAX_DISCORD_CHARACTERS = 2_000

/** JSON with `content`, or behind `/slack` what Slack takes. */
const discord: Service = ({ method, path, body }) => {
  const [, id, token, suffix] = /^\/api\/webhooks\/(\w+)\/([\w-]+)(\/slack)?$/.exec(path) ?? []
  if (method !== 'POST' || id === undefined) return refuse(404, { code: 0, message: '404: Not Found' })
  if (id !== KNOWN.ID) return refuse(404, { code: 10_015, message: 'Unknown Webhook' })
  if (token !== KNOWN.TOKEN) return refuse(401, { code: 50_027, message: 'Invalid Webhook Token' })
  const fields = parseObject(body)
  const shown = suffix === undefined ? fields?.content : fields?.text
  if (!isText(shown)) return refuse(400, { code: 50_006, message: 'Cannot send an empty message' })
  const isLong = shown.length > MAX_DISCORD_CHARACTERS
  if (isLong) return refuse(400, { code: 50_035, message: 'Invalid Form Body' })
  return suffix === undefined ? { status: 204, body: '', shown } : { status: 200, body: 'ok', shown }
}

const MAX_TELEGRAM_CHARACTERS = 4_096

const explainTelegram = (status: number, description: string): Reply => {
  const body = { ok: false, error_code: status, description }
  return refuse(status, body)
}

const telegram: Service = async (request) => {
  const [, token, call] = /^\/bot([^/]+)\/(\w+)$/.exec(request.path) ?? []
  if (token !== KNOWN.TOKEN) return explainTelegram(401, 'Unauthorized')
  if (call?.toLowerCase() !== 'sendmessage') return explainTelegram(404, 'Not Found')
  const { chat_id: chat, text } = await readFields(request)
  if (!isText(chat)) return explainTelegram(400, 'Bad Request: chat_id is empty')
  if (chat !== KNOWN.CHAT) return explainTelegram(400, 'Bad Request: chat not found')
  if (!isText(text)) return explainTelegram(400, 'Bad Request: message text is empty')
  if (text.length > MAX_TELEGRAM_CHARACTERS) return explainTelegram(400, 'Bad Request: message is too long')
  const result = { message_id: 1, chat: { id: Number(chat) }, text }
  return { status: 200, body: { ok: true, result }, shown: text }
}

const explainGotify = (errorCode: number, error: string, errorDescription: string): Reply =>
  refuse(errorCode, { error, errorCode, errorDescription })

/** A form or JSON with `message`; the token is in the query or in a header. */
const gotify: Service = async (request) => {
  const { method, path, query, headers } = request
  if (method !== 'POST' || path !== '/message') return explainGotify(404, 'Not Found', 'page not found')
  const inHeader = headers['x-gotify-key'] ?? headers.authorization?.replace(/^Bearer /i, '')
  const isKnown = (query.get('token') ?? inHeader) === KNOWN.TOKEN
  if (!isKnown) return explainGotify(401, 'Unauthorized', 'you need to provide a valid access token')
  const { message, title = 'scripstream', priority = 0 } = await readFields(request)
  if (!isText(message)) return explainGotify(400, 'Bad Request', "Field 'message' is required")
  const hasPriority = /^\d+$/.test(String(priority))
  if (!hasPriority) return explainGotify(400, 'Bad Request', "Field 'priority' is not valid")
  const body = { id: 1, appid: 1, message, title, priority: Number(priority) }
  return { status: 200, body, shown: message }
}

/** By their names in the operator's guide. Each has the rules, statuses and bodies that it documents. */
const SERVICES: Readonly<Record<string, Service>> = {
  Slack: slack,
  Discord: discord,
  ntfy,
  Telegram: telegram,
  gotify,
}

/** A request to a service, and what became of it. */
export interface Delivery {
  readonly bytes: number
  readonly status: number
  readonly shown: string | undefined
}

export interface ServedService {
  readonly url: string
  readonly deliveries: readonly Delivery[]
}

/** Serves a service until the test ends. The first `busy` requests are refused with 503. */
export const serveService = async (name: string, busy = 0): Promise<ServedService> => {
  const service = SERVICES[name]
  if (service === undefined) throw new Error(`no rules of the service ${name}`)
  const deliveries: Delivery[] = []
  const { url } = await serveHttp(async (request, response) => {
    const { method, headers } = request
    const { pathname: path, searchParams: query } = new URL(request.url ?? '', 'http://service.example')
    const body = await buffer(request)
    const isBusy = deliveries.length < busy
    const reply = isBusy ? refuse(503, 'busy') : await service({ method, path, query, headers, body })
    deliveries.push({ bytes: body.length, status: reply.status, shown: reply.shown })
    const text = typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body)
    response.writeHead(reply.status).end(text)
  })
  return { url, deliveries }
}
