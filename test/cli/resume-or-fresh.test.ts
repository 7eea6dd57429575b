import { describe, expect, it } from 'vitest'
import { resumeOrFresh } from '../../src/commands/resume-or-fresh.ts'
import { stateMarkdown } from '../../src/layouts/state-markdown.ts'
import { tempProject } from '../contracts/layouts/temp-project.ts'

const state = '---\ntask_id: auth\niteration: 3\nmax_iterations: 5\n---\n'
const prepared = (files: Record<string, string>) => ({
  layout: stateMarkdown,
  project: { root: tempProject(files), settings: {} },
})

/** A person who gives these answers, and what he was asked. */
function person(...answers: string[]) {
  const asked: string[] = []
  return {
    asked,
    ask: async (question: string) => {
      asked.push(question)
      return answers.shift() ?? ''
    },
  }
}

describe('S3-41 S3-T13 a rerun with a state file', () => {
  it('asks a person: resume or fresh?', async () => {
    const one = person('what?', ' Fresh ')
    expect(await resumeOrFresh({ once: false }, prepared({ '.ralph_state.md': state }), one.ask)).toBe(
      'fresh',
    )
    expect(one.asked).toEqual([
      '.ralph_state.md holds auth, iteration 3/5: resume or fresh? ',
      '.ralph_state.md holds auth, iteration 3/5: resume or fresh? ',
    ])
    for (const answer of ['', 'r', 'resume'])
      expect(
        await resumeOrFresh({ once: false }, prepared({ '.ralph_state.md': state }), person(answer).ask),
      ).toBe('resume')
  })

  it('asks nobody who said it with a flag, who is not there, or who goes step by step: then it resumes', async () => {
    const place = prepared({ '.ralph_state.md': state })
    const one = person('fresh')
    expect(await resumeOrFresh({ once: false, resume: true }, place, one.ask)).toBe('resume')
    expect(await resumeOrFresh({ once: false, fresh: true }, place, one.ask)).toBe('fresh')
    expect(await resumeOrFresh({ once: false, json: true }, place, one.ask)).toBe('resume')
    expect(await resumeOrFresh({ once: true }, place, one.ask)).toBe('resume')
    expect(await resumeOrFresh({ once: false }, place, null)).toBe('resume')
    expect(await resumeOrFresh({ once: false }, prepared({}), one.ask)).toBe(null)
    expect(one.asked).toEqual([])
  })
})
