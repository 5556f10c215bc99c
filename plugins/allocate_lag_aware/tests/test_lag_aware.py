from mqframe_lagaware import LagAware

from mqframe.testing.conformance import AllocationConformance


class TestLagAwareConformance(AllocationConformance):
    def make(self) -> LagAware:
        return LagAware()
