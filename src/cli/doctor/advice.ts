import { BadAnswer, HttpError, messageOf } from '../../model/errors.js'
import { environmentNames } from '../../model/settings.js'
import type { AnyEndpoint } from '../../provider/endpoint.js'
import { hintOn } from '../hints.js'

/** Advice for a failed request. */
export const adviceOn = (error: unknown, { host, path }: Pick<AnyEndpoint, 'host' | 'path'>): string => {
  if (error instanceof HttpError && error.statusCode === 404 && path.includes('{date}'))
    return 'No file exists for these days; choose a trading day with --as-of.'
  if (error instanceof BadAnswer && error.reason !== 'html')
    return 'The provider may have changed its format; look for a newer version of scripstream.'
  return hintOn(messageOf(error)) ?? `Check ${environmentNames[`urls.${host}`] ?? host} (its path too), the network, and any proxy.`
}
