"""The search for a CRF: interpolation, and bisection where that makes no progress.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import enum
import math
from typing import NamedTuple

# The largest number of encodes of each sample.
MOST = 11
# After this many encodes, a score within the tolerance, or a CRF that is about exact, is enough.
ENOUGH = 5


class Metric(NamedTuple):
    """A metric, and what its scores mean to the search."""
    name: str               # also the name of the filter
    key: str                # beginning of the metadata keys of its scores
    best: float             # score of an identical encode
    typical: float          # score in the middle of an encoder's range
    digits: int             # printed decimal places
    tolerance: float        # default of --tolerance
    better: str = 'higher'
    decibels: int = 0       # decibels of a factor of 10; the mean is taken before the logarithm
    offset: float = 0       # |best - score| + offset grows about exponentially with the CRF
    step: int = 7           # default of --score-every for long parts

    def reaches(self, score, target):
        """Whether a score is at least as good as another one."""
        return score >= target if self.better == 'higher' else score <= target


class Point(NamedTuple):
    """Prediction of the whole encode with a CRF that was tried."""
    crf: float
    score: float            # that of --pool
    percent: float = 0      # size in percent of the source's video
    size: float = 0         # in bytes
    error: float = 0        # by which the size may be off; NaN if one sample does not show it
    seconds: float = 0      # for encoding
    mean: float = math.nan  # score of all frames


class Plan(NamedTuple):
    """The CRFs that may be tried, and the condition for the result."""
    metric: Metric
    min_crf: float
    max_crf: float
    increment: float
    target: float           # score
    tolerance: float        # score, may be 0
    max_percent: float      # of the size of the source's video
    exact: float            # the CRF need not be found more exactly than this

    @property
    def first(self):
        """The lowest multiple of the increment that may be tried."""
        return math.ceil(self.min_crf / self.increment - 1e-6)

    @property
    def last(self):
        """The highest multiple of the increment that may be tried."""
        return math.floor(self.max_crf / self.increment + 1e-6)


class State(enum.Enum):
    """Why a search has ended, or TRY."""
    TRY = 'the CRF is to be tried'
    TOLERANCE = 'is within the tolerance'
    EXACT = 'is the highest that reaches the target'
    NEAR = 'is at most 0.4 below the highest that reaches the target'
    LAST = 'is the highest that may be tried'
    MISSED = 'is the lowest, and misses the target'
    TOO_LARGE = 'is too large, and a higher one misses the target'


def distortion(plan, score):
    """A number that is about linear in the CRF."""
    metric = plan.metric
    if metric.decibels:
        return -score * math.log(10) / 20
    # Some models of VMAF exceed the best score.
    loss = metric.best - score if metric.better == 'higher' else score - metric.best
    return math.log(max(loss, 0) + metric.offset)


def expected_crf(plan, points, low, high):
    """The CRF at which a score is expected that is a little better than the target."""
    sign = 1 if plan.metric.better == 'higher' else -1
    aim = distortion(plan, plan.target + sign * plan.tolerance / 4)
    prior = 3.6 / max(plan.max_crf - plan.min_crf, 1)      # growth with each CRF
    one, slope = low or high, prior
    if not one:
        return (plan.min_crf + plan.max_crf) / 2 + \
            (aim - distortion(plan, plan.metric.typical)) / prior
    if len(points) > 1:
        at = points.index(one)
        other = high if low and high else points[at - 1 if low else at + 1]
        slope = (distortion(plan, other.score) - distortion(plan, one.score)) / \
            (other.crf - one.crf)
    # Outside the range that was tried, only a likely slope is used.
    if not low or not high:
        slope = min(max(slope, prior / 2), prior * 2)
    return one.crf + (aim - distortion(plan, one.score)) / (slope or prior)


def search_next(plan, points):
    """Choose the next CRF by the points that were tried, in order of rising CRF.

    The result is the highest CRF that reaches the target with all that are lower: every CRF above
    the first miss is taken to miss. Return a state, the CRF to try with TRY, else None, and the
    point that ended the search, or None.
    """
    step, exact = plan.increment, max(plan.exact, plan.increment)
    # In steps of the CRF: the result is at `start` or higher, and lower than `end`.
    start, end = plan.first - 1, plan.last + 1
    # They need not be nearer than this, so that the encodes that are left can halve the range.
    near = max(1, math.floor(exact / step + 1e-6), math.ceil((end - start) / 2 ** (MOST - 1)))
    nb, low = len(points), None
    high = next((point for point in points
                 if not plan.metric.reaches(point.score, plan.target)), None)
    reaching = points[:points.index(high)] if high else points
    if reaching:
        low = reaching[-1]
        start = round(low.crf / step)
    if high:
        end = round(high.crf / step)
    if high and high.percent > plan.max_percent:
        return State.TOO_LARGE, None, high
    if not low and end - start <= 1:
        return State.MISSED, None, high
    expected = expected_crf(plan, points, low, high)
    if low:
        is_close = abs(plan.target - low.score) <= plan.tolerance and \
            low.percent <= plan.max_percent
        state = (State.EXACT if high else State.LAST) if end - start <= 1 else \
            State.TOLERANCE if is_close and (nb >= ENOUGH or expected - low.crf <= exact) else \
            State.NEAR if nb >= ENOUGH and end - start <= near else State.TRY
        if state != State.TRY:
            return State.TOO_LARGE if low.percent > plan.max_percent else state, None, low

    following = expected / step if math.isfinite(expected) else (start + end) / 2
    if low and high:
        # Where the curve does not help, stay away from the ends, and then halve the range.
        edge = (end - start - 2) * 0.05 if nb > 3 else 0
        following = (start + end) / 2 if nb > ENOUGH else \
            min(max(following, start + 1 + edge), end - 1 - edge)
    elif not low and end - start <= near:
        following = start + 1       # no CRF is found before it was tried
    elif nb > 2:
        # Steps grow where all points are on one side of the target.
        stride = near * 2 ** (nb - 2)
        following = max(following, start + stride) if low else min(following, end - stride)
    # Not so far that halving cannot lead back. One encode is reserved for the lowest CRF.
    most = near * 2 ** max(MOST - 1 - nb - (not low), 0)
    lowest, highest = max(start + 1, end - most), min(end - 1, start + most)
    return State.TRY, step * min(max(math.floor(following + 1e-6), lowest), highest), None
