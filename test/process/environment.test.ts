import { describe, expect, it } from 'vitest'
import { allowedEnvironment, secretValues } from '../../src/process/environment.ts'

describe('the environment of agents and gates', () => {
  it('passes what is common and what is asked for, by name or by its beginning', () => {
    const env = {
      PATH: '/bin',
      LC_TIME: 'C',
      https_proxy: 'p',
      MY_KEY: 'k',
      MY_OTHER: 'o',
      ELSE: 'e',
      AWS_SECRET_ACCESS_KEY: 's',
    }
    expect(allowedEnvironment(env)).toEqual({ PATH: '/bin', LC_TIME: 'C', https_proxy: 'p' })
    expect(allowedEnvironment(env, ['MY_*', 'ELSE', 'UNSET'])).toEqual({
      PATH: '/bin',
      LC_TIME: 'C',
      https_proxy: 'p',
      MY_KEY: 'k',
      MY_OTHER: 'o',
      ELSE: 'e',
    })
  })

  it('never passes what carries code or leads git elsewhere, not even when asked', () => {
    const env = {
      NODE_OPTIONS: '--require x',
      LD_PRELOAD: 'x',
      BASH_ENV: 'x',
      GIT_DIR: 'x',
      GIT_INDEX_FILE: 'x',
      HOME: 'h',
    }
    expect(allowedEnvironment(env, ['*', 'NODE_OPTIONS'])).toEqual({ HOME: 'h' })
  })

  it('knows secrets by the names of their variables', () => {
    const env = {
      OPENAI_API_KEY: 'a-long-value',
      GH_TOKEN: 'another-value',
      DB_PASSWORD: 'short',
      MAX_TOKENS: '1000000000',
      GOOGLE_APPLICATION_CREDENTIALS: '/home/user/key.json',
      PATH: '/usr/local/bin',
      UNSET_KEY: undefined,
    }
    expect(secretValues(env)).toEqual(['a-long-value', 'another-value'])
  })
})
