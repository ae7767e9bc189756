import { UsageError } from '../src/model/errors.js'

/** The package, which is loaded only where it is needed. */
export const loadPostgres = async (): Promise<typeof import('postgres')> => {
  try {
    return (await import('postgres')).default
  } catch (error) {
    throw new UsageError('this needs the PostgreSQL client, which is not installed: npm install postgres', { cause: error })
  }
}
