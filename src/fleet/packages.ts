import { UsageError } from '../model/errors.js'

/** The queue and its client, which are loaded only where a fleet is wanted. */
export interface Packages {
  readonly bullmq: typeof import('bullmq')
  readonly Redis: typeof import('ioredis').Redis
}

export const loadPackages = async (): Promise<Packages> => {
  try {
    const [bullmq, { Redis }] = await Promise.all([import('bullmq'), import('ioredis')])
    return { bullmq, Redis }
  } catch (error) {
    throw new UsageError('a fleet needs two packages that are not installed: npm install bullmq@6.7.0 ioredis@6.0.0', { cause: error })
  }
}
