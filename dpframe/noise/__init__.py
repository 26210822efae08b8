"""Exact integer noise from the operating system's random bytes."""

from __future__ import annotations

from dpframe.noise.gaussian import DiscreteGaussian
from dpframe.noise.laplace import DiscreteLaplace
from dpframe.noise.max_norm import MaxNorm
from dpframe.noise.protocol import Noise

__all__ = ["DiscreteGaussian", "DiscreteLaplace", "MaxNorm", "Noise"]
