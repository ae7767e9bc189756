import type { AnyEndpoint } from '../../http/endpoint.js'
import { BadAnswerError, CollectError, HttpError } from '../../model/errors.js'
import { toAddressVariable } from '../../model/settings.js'
import { findHint } from '../hints.js'

/** Advice for a failed request. */
export const findRequestHint = (error: unknown, { host, path }: Pick<AnyEndpoint, 'host' | 'path'>): string => {
  if (error instanceof HttpError && error.statusCode === 404 && path.includes('{date}'))
    return 'No file exists for these days; choose a trading day with --as-of.'
  if (error instanceof BadAnswerError && error.reason !== 'html')
    return 'The provider may have changed its format; look for a newer version of scripstream.'
  const hint = error instanceof CollectError ? findHint(error) : undefined
  return hint ?? `Check ${toAddressVariable(host)} (its path too), the network, and any proxy.`
}
