import { UsageError } from '../src/model/errors.js'

/** Loads the package on demand. */
export const loadPostgres = async (): Promise<typeof import('postgres')> => {
  try {
    return (await import('postgres')).default
  } catch (error) {
    throw new UsageError('the PostgreSQL client is not installed; run npm install postgres', { cause: error })
  }
}
