import { BadAnswer, HttpError, messageOf } from '../../model/errors.js'
import { environmentNames } from '../../model/settings.js'
import type { AnyEndpoint } from '../../provider/endpoint.js'
import { hintOn } from '../hints.js'

/** What to do about a request that failed. */
export const adviceOn = (error: unknown, { host, path }: Pick<AnyEndpoint, 'host' | 'path'>): string => {
  if (error instanceof HttpError && error.statusCode === 404 && path.includes('{date}'))
    return 'There is no file of these days: name an evening that has one with --as-of.'
  if (error instanceof BadAnswer && error.reason !== 'html')
    return 'The provider may have changed its answers: look for a newer scripstream.'
  return hintOn(messageOf(error)) ?? `See ${environmentNames[`urls.${host}`] ?? host}, its path too, the network, and a proxy on the way.`
}
